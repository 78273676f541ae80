#include "serve/request_check.h"

#include <gtest/gtest.h>

#include "serve/test_session.h"

namespace ridge::serve {
namespace {

class RequestCheck : public testing::Test {
 protected:
  RequestCheck() {
    settings_.name = "m";
    settings_.max_batch_size = 4;
    settings_.inputs = {{"a", DataType::kFp32, {2}, {}, false, 0, {}, {}},
                        {"s", DataType::kBytes, {-1}, {}, true, 1, {}, {}}};
    settings_.outputs = {{"y", DataType::kFp32, {3}, {}, false, 0, {}, {}},
                         {"t", DataType::kBytes, {1}, {}, false, 1, {}, {}}};
  }
  RequestInput input(const std::string& name, DataType type, Shape shape, size_t bytes) {
    memory_.resize(std::max(memory_.size(), bytes));
    return {name, type, std::move(shape), std::span<const std::byte>(memory_).first(bytes)};
  }
  RequestInput a(int64_t rows = 1) { return input("a", DataType::kFp32, {rows, 2}, static_cast<size_t>(rows) * 8); }
  // Zero bytes are BYTES elements of length 0.
  RequestInput s(int64_t rows, int64_t count) {
    return input("s", DataType::kBytes, {rows, count}, static_cast<size_t>(rows * count) * 4);
  }
  Result<JobPtr> check(std::vector<RequestInput> inputs, std::vector<RequestedOutput> outputs = {}) const {
    InferRequest request;
    request.model = "m";
    request.inputs = std::move(inputs);
    request.outputs = std::move(outputs);
    return check_request(settings_, std::move(request));
  }
  // The message, after checking the code; empty = accepted.
  std::string refusal(std::vector<RequestInput> inputs, std::vector<RequestedOutput> outputs = {}) const {
    auto job = check(std::move(inputs), std::move(outputs));
    if (job) return "";
    EXPECT_EQ(job.error().code, Code::kInvalid);
    return job.error().message;
  }

  ModelSettings settings_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1024);
};

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(RequestCheck, PutsInputsIntoTheModelsOrder) {
  auto job = check({s(2, 1), a(2)});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ((*job)->rows, 2);
  EXPECT_EQ((*job)->request.inputs[0].name, "a");
  EXPECT_EQ((*job)->request.inputs[1].name, "s");
}

TEST_F(RequestCheck, AnOptionalInputMayBeLeftOut) {
  auto job = check({a()});
  ASSERT_TRUE(job);
  ASSERT_EQ((*job)->request.inputs.size(), 2u);
  EXPECT_EQ((*job)->request.inputs[1].type, DataType::kInvalid);
}

TEST_F(RequestCheck, NamesTheInputAtFault) {
  EXPECT_TRUE(mentions(refusal({a(), input("b", DataType::kFp32, {1, 2}, 8)}), "'b'"));
  EXPECT_TRUE(mentions(refusal({s(1, 1)}), "input 'a' is missing"));
  EXPECT_TRUE(mentions(refusal({}), "input 'a' is missing"));
  EXPECT_TRUE(mentions(refusal({a(), a()}), "'a' is given twice"));
  EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp64, {1, 2}, 16)}), "data-type is 'FP64'"));
  EXPECT_TRUE(mentions(refusal({input("", DataType::kFp64, {1, 2}, 16)}), "''"));
}

TEST_F(RequestCheck, ShapesMustFit) {
  for (const Shape& shape : std::vector<Shape>{{}, {2}, {1, 3}, {1, 2, 1}, {1, -2}, {-1, 2}, {1, -1}})
    EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp32, shape, 8)}), "unexpected shape for input 'a'"))
        << shape_text(shape);
}

TEST_F(RequestCheck, RowsOfOneValueNeedNoSecondDimension) {
  settings_.inputs[0].dims = {1};
  EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp32, {2}, 8)}), "unexpected shape")) << "the model has [n, 1]";
  settings_.inputs[0].reshape = Shape{};
  const Result<JobPtr> job = check({input("a", DataType::kFp32, {2}, 8)});
  ASSERT_TRUE(job);
  EXPECT_EQ((*job)->request.inputs[0].shape, (Shape{2, 1}));
  EXPECT_EQ((*job)->rows, 2);
}

TEST_F(RequestCheck, BatchSizesAreWithinTheLimitAndEqual) {
  EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp32, {0, 2}, 0)}), "batch-size"));
  EXPECT_TRUE(mentions(refusal({a(5)}), "batch-size must be between 1 and 4"));
  EXPECT_TRUE(mentions(refusal({a(2), s(3, 1)}), "batch size does not match"));
}

TEST_F(RequestCheck, TheBytesMustBeExactlyTheShapes) {
  EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp32, {1, 2}, 7)}), "needs 8 bytes, got 7"));
  EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp32, {1, 2}, 12)}), "needs 8 bytes, got 12"));
  EXPECT_TRUE(mentions(refusal({a(), input("s", DataType::kBytes, {1, 2}, 4)}), "expected 2 elements, found 1"));
  EXPECT_TRUE(mentions(refusal({a(), input("s", DataType::kBytes, {1, 1}, 6)}), "input 's'"));
}

TEST_F(RequestCheck, ClaimedSizesBeyondSixtyFourBitsAreRefused) {
  settings_.max_batch_size = 0;
  settings_.inputs[0].dims = {-1, -1};
  int64_t huge = int64_t{1} << 32;
  EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp32, {huge, huge}, 8)}), "64 bits"));
  EXPECT_TRUE(mentions(refusal({input("a", DataType::kFp32, {huge, huge >> 2}, 8)}), "more than 2^63"));
  EXPECT_TRUE(mentions(refusal({a(), input("s", DataType::kBytes, {int64_t{1} << 62}, 8)}),
                       "expected 4611686018427387904 elements"));
}

TEST_F(RequestCheck, EmptyTensorsAreFine) { EXPECT_EQ(refusal({a(), s(1, 0)}), ""); }

TEST_F(RequestCheck, ModelsWithoutBatchingTakeTheirDimsAsTheyAre) {
  settings_.max_batch_size = 0;
  auto job = check({input("a", DataType::kFp32, {2}, 8)});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ((*job)->rows, 1);
}

TEST_F(RequestCheck, OutputsAreKnownAndAskedForOnce) {
  auto job = check({a()}, {{"t", 0}, {"y", 2}});
  ASSERT_TRUE(job);
  ASSERT_EQ((*job)->wanted.size(), 2u);
  EXPECT_EQ((*job)->wanted[0].index, 1);
  EXPECT_EQ((*job)->wanted[1].classification, 2);
  EXPECT_TRUE(mentions(refusal({a()}, {{"z", 0}}), "'z'"));
  EXPECT_TRUE(mentions(refusal({a()}, {{"y", 0}, {"y", 0}}), "asked for twice"));
  EXPECT_TRUE(mentions(refusal({a()}, {{"t", 1}}), "cannot be classified"));
  EXPECT_TRUE(mentions(refusal({a()}, {{"y", -1}}), "positive"));
}

}  // namespace
}  // namespace ridge::serve
