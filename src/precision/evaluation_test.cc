#include "precision/evaluation.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/temporary_folder.h"

namespace ridge::precision {
namespace {

plan::Plan plan_of(const std::string& model = "m.onnx") {
  plan::Plan plan;
  plan.model = model;
  plan.threads = 2;
  return plan;
}

EvaluationOptions command(const std::string& text) {
  EvaluationOptions options;
  options.command = text;
  options.seconds = 20;
  return options;
}

std::string error_of(const EvaluationOptions& options) {
  Result<double> number = evaluate(options, plan_of(), "int8");
  return number ? "" : number.error().message;
}

TEST(Evaluation, SplitsACommandAsAShellWouldButExpandsNothing) {
  EXPECT_EQ(split_command("python3  a.py 'b c' \"d'e\" f\\ g ''").value(),
            (std::vector<std::string>{"python3", "a.py", "b c", "d'e", "f g", ""}));
  EXPECT_EQ(split_command("echo $HOME;ls *.py|wc").value(), (std::vector<std::string>{"echo", "$HOME;ls", "*.py|wc"}));
  EXPECT_FALSE(split_command("echo 'open"));
  EXPECT_FALSE(split_command("   "));
}

TEST(Evaluation, NumberIsTheWholeLastLine) {
  EXPECT_EQ(number_in("loading\naccuracy\n 0.75 \n\n").value(), 0.75);
  EXPECT_EQ(number_in("-1.5e3").value(), -1500);
  EXPECT_EQ(number_in("+2\n").value(), 2);
  EXPECT_FALSE(number_in("accuracy: 0.75\n"));
  EXPECT_FALSE(number_in("0.75 %\n"));
  EXPECT_FALSE(number_in("nan\n"));
  EXPECT_FALSE(number_in("\n \n"));
}

TEST(Evaluation, ModelIsAppendedOrPutWhereItIsAskedFor) {
  EXPECT_EQ(evaluate(command("sh -c 'test \"$1\" = m.onnx && echo 1' name"), plan_of(), "int8").value(), 1);
  EXPECT_EQ(evaluate(command("sh -c 'test $# = 1 && test \"$1\" = --model=m.onnx && echo 2' name --model={model}"),
                     plan_of(), "int8")
                .value(),
            2);
}

TEST(Evaluation, SettingsOfTheEngineAreInTheEnvironment) {
  const std::string check =
      "sh -c 'test \"$RIDGE_VARIANT $RIDGE_ENGINE $RIDGE_THREADS $RIDGE_PRECISION $RIDGE_MODEL\" = "
      "\"int8 onnxruntime 2 fp32 m.onnx\" && test -n \"$PATH\" && test -n \"$RIDGE_PLAN\" && echo 3'";
  EXPECT_EQ(evaluate(command(check), plan_of(), "int8").value(), 3);
}

TEST(Evaluation, SaysWhyACommandGaveNoNumber) {
  EXPECT_NE(error_of(command("no-such-command-anywhere")).find("no-such-command-anywhere"), std::string::npos);
  EXPECT_NE(error_of(command("sh -c 'echo no data; exit 7'")).find("status 7, its last line: no data"),
            std::string::npos);
  EXPECT_NE(error_of(command("sh -c 'kill -9 $$'")).find("signal 9"), std::string::npos);
  EXPECT_NE(error_of(command("echo fine")).find("not one finite number: 'fine m.onnx'"), std::string::npos);
}

TEST(Evaluation, ACommandThatHangsIsKilledWithWhatItStarted) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const std::string pipe = folder->path() + "/held";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int held = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EvaluationOptions options = command("sh -c 'exec 9> " + pipe + "; sleep 600 & sleep 600'");
  options.seconds = 0.2;
  Result<double> number = evaluate(options, plan_of(), "int8");
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().code, Code::kTimeout) << number.error().message;
  fcntl(held, F_SETFL, 0);
  char byte = 0;
  EXPECT_EQ(read(held, &byte, 1), 0);  // returns when nothing that the command started lives
  close(held);
}

TEST(Evaluation, InterruptionEndsTheCommand) {
  EvaluationOptions options = command("sleep 60");
  options.interrupted = [] { return true; };
  Result<double> number = evaluate(options, plan_of(), "int8");
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().code, Code::kCancelled);
}

TEST(Evaluation, OnePercentMayBeLostUnlessSaidOtherwise) {
  EvaluationOptions options;
  EXPECT_TRUE(judge_score(0.8, 0.793, options).holds);
  EXPECT_FALSE(judge_score(0.8, 0.791, options).holds);
  EXPECT_TRUE(judge_score(-2, -2.01, options).holds);
  options.drop = 0.1;
  EXPECT_TRUE(judge_score(0.8, 0.71, options).holds);
  options.least = 0.75;
  EXPECT_FALSE(judge_score(0.8, 0.71, options).holds);
  options.drop.reset();
  EXPECT_TRUE(judge_score(5, 0.76, options).holds);
}

}  // namespace
}  // namespace ridge::precision
