#include "app/next_steps.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridge::app {
namespace {

TEST(NextSteps, AWordThatTheShellWouldReadIsQuoted) {
  EXPECT_EQ(shell_word("models/a-1.onnx"), "models/a-1.onnx");
  EXPECT_EQ(shell_word("my model.onnx"), "'my model.onnx'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(NextSteps, ACommandIsRepeatedIntoAnotherFile) {
  EXPECT_EQ(
      repeated("ridge bench 'my m.onnx' --batch 4 -o 'a b.json' --json --html=x.html --trace t.json", "again.json"),
      "ridge bench 'my m.onnx' --batch 4 -o again.json");
  EXPECT_EQ(repeated("ridge power sweep --device 0 -- sh -o work.sh", "again.json"),
            "ridge power sweep --device 0 -o again.json -- sh -o work.sh");
  EXPECT_EQ(repeated("ridge bench 'it'\\''s a.onnx' --csv", "b"), "ridge bench 'it'\\''s a.onnx' -o b");
  EXPECT_EQ(repeated("ridge tune m.onnx -o models", "again.json"), "ridge tune m.onnx -o models");
}

TEST(NextSteps, ASmallRequestStandsInTheLine) {
  const std::vector<TensorSpec> inputs{{"x", DataType::kFp32, {-1, 2}}, {"s", DataType::kBytes, {1}}};
  EXPECT_EQ(request_line("localhost:8000", "a b", inputs),
            R"(curl -s localhost:8000/v2/models/a%20b/infer -d '{"inputs": [{"name": "x", "datatype": "FP32", )"
            R"("shape": [1,2], )"
            R"("data": [1,1]}, {"name": "s", "datatype": "BYTES", "shape": [1], "data": ["text"]}]}')");
}

TEST(NextSteps, ALargeRequestIsWrittenByPython) {
  const std::string line =
      request_line("localhost:80", "m", std::vector<TensorSpec>{{"x", DataType::kBool, {-1, 3, -1, -1}}});
  EXPECT_NE(line.find("[1,3,224,224]"), std::string::npos) << line;
  EXPECT_NE(line.find("[True] * 150528"), std::string::npos) << line;
}

TEST(NextSteps, AModelWithSequencesGetsAWholeOne) {
  EXPECT_EQ(request_line("localhost:80", "m", std::vector<TensorSpec>{{"x", DataType::kFp32, {1}}}, "", true),
            R"(curl -s localhost:80/v2/models/m/infer -d '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], )"
            R"("data": [1]}], "parameters": {"sequence_id": 1, "sequence_start": true, "sequence_end": true}}')");
}

TEST(NextSteps, ALanguageModelAnswersAMessageOrContinuesAText) {
  EXPECT_EQ(text_line("localhost:80", "m", "", true),
            "curl -s localhost:80/v1/chat/completions -H 'Content-Type: application/json' -d "
            R"('{"model":"m","messages":[{"role":"user","content":"Hello"}],"max_tokens":32}')");
  EXPECT_EQ(text_line("localhost:80", "my m", "--cacert c.pem "),
            "curl -s --cacert c.pem localhost:80/v1/completions -H 'Content-Type: application/json' -d "
            R"('{"model":"my m","prompt":"Hello","max_tokens":32}')");
}

TEST(NextSteps, WhatHasNoJsonFormIsOnlyDescribed) {
  EXPECT_EQ(request_line("localhost:80", "m", std::vector<TensorSpec>{{"x", DataType::kFp16, {1}}}),
            "curl -s localhost:80/v2/models/m");
}

}  // namespace
}  // namespace ridge::app
