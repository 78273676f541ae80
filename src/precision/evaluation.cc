#include "precision/evaluation.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/units.h"

namespace ridge::precision {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kPlace = "{model}";

// Words of a command, character by character.
struct Splitter {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';

  void put(char c) {
    word += c;
    in_word = true;
  }
  void end() {
    if (in_word) words.push_back(std::move(word));
    word.clear();
    in_word = false;
  }
};

// Replaces {model} in every word; true if there was one.
bool fill_in(std::vector<std::string>& words, const std::string& model) {
  bool found = false;
  for (std::string& word : words)
    for (size_t at = word.find(kPlace); at != std::string::npos; at = word.find(kPlace, at + model.size())) {
      word.replace(at, kPlace.size(), model);
      found = true;
    }
  return found;
}

std::vector<std::string> environment_of(const plan::Plan& plan, const std::string& variant) {
  return {"RIDGE_MODEL=" + plan.model,
          "RIDGE_ENGINE=" + plan.engine,
          "RIDGE_ENGINE_LIBRARY=" + plan.engine_library,
          "RIDGE_VARIANT=" + variant,
          "RIDGE_PRECISION=" + std::string(precision_name(plan.precision)),
          "RIDGE_DEVICE=" + plan.device,
          "RIDGE_THREADS=" + std::to_string(plan.threads),
          "RIDGE_PLAN=" + dump_json(plan::to_json(plan))};
}

}  // namespace

Result<std::vector<std::string>> split_command(const std::string& command) {
  Splitter split;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && split.quote != '\'' && i + 1 < command.size()) {
      split.put(command[++i]);
    } else if (split.quote != '\0') {
      if (c == split.quote)
        split.quote = '\0';
      else
        split.put(c);
    } else if (c == '\'' || c == '"') {
      split.quote = c;
      split.in_word = true;
    } else if (kBlanks.find(c) != std::string_view::npos) {
      split.end();
    } else {
      split.put(c);
    }
  }
  split.end();
  if (split.quote != '\0')
    return Error{Code::kInvalid, fmt::format("--eval: a {} is not closed in: {}", split.quote, command)};
  if (split.words.empty() || split.words[0].empty())
    return Error{Code::kInvalid, "--eval: the command is empty; example: --eval 'python3 evaluate.py --model {model}'"};
  return std::move(split.words);
}

Result<double> number_in(const std::string& output) {
  const size_t end = output.find_last_not_of(kBlanks);
  if (end == std::string::npos) return Error{Code::kFailed, "it wrote nothing; its last line must be one number"};
  const size_t before = output.rfind('\n', end);
  const size_t start = output.find_first_not_of(kBlanks, before == std::string::npos ? 0 : before + 1);
  const std::string line = output.substr(start, end + 1 - start);
  const char* first = line.c_str() + (line[0] == '+' ? 1 : 0);
  double value = 0;
  auto [stop, error] = std::from_chars(first, line.c_str() + line.size(), value);
  if (error != std::errc() || stop != line.c_str() + line.size() || !std::isfinite(value))
    return Error{Code::kFailed, fmt::format("its last line is not one finite number: '{}'", line.substr(0, 200))};
  return value;
}

Result<double> evaluate(const EvaluationOptions& options, const plan::Plan& plan, const std::string& variant) {
  ChildProgram child;
  RIDGE_ASSIGN(child.arguments, split_command(options.command));
  if (!fill_in(child.arguments, plan.model)) child.arguments.push_back(plan.model);
  child.environment = environment_of(plan, variant);
  Result<std::string> output =
      output_of_program(child, {.time = from_seconds(options.seconds), .interrupted = options.interrupted});
  if (!output) return wrap(output.error(), "--eval of " + variant);
  Result<double> number = number_in(*output);
  if (!number) return wrap(number.error(), fmt::format("--eval of {}: '{}'", variant, child.arguments[0]));
  return number;
}

EvaluationVerdict judge_score(double reference, double score, const EvaluationOptions& options) {
  EvaluationVerdict verdict;
  verdict.reference = reference;
  verdict.score = score;
  const bool neither = !options.least && !options.drop;
  verdict.least = -HUGE_VAL;
  if (options.least) verdict.least = *options.least;
  if (options.drop || neither)
    verdict.least = std::max(verdict.least, reference - options.drop.value_or(kDefaultDropShare * std::abs(reference)));
  verdict.holds = score >= verdict.least;
  verdict.sentence = fmt::format("The metric of --eval {}: {:.6g}, FP32 {:.6g}, required at least {:.6g}.",
                                 verdict.holds ? "holds" : "is missed", score, reference, verdict.least);
  return verdict;
}

}  // namespace ridge::precision
