#include "serve/batch_runner.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "serve/sequences.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

std::string bytes_block(const std::vector<std::string>& texts) {
  std::string block;
  for (const std::string& text : texts) {
    auto length = static_cast<uint32_t>(text.size());
    block.append(reinterpret_cast<const char*>(&length), sizeof length);
    block += text;
  }
  return block;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// x FP32 [N,2] and s BYTES [N,-1] → y FP32 [N,2] and t BYTES [N,-1].
class BatchRunnerTest : public testing::Test {
 protected:
  BatchRunnerTest() {
    signature_ = {{{"x", DataType::kFp32, {-1, 2}}, {"s", DataType::kBytes, {-1, -1}}},
                  {{"y", DataType::kFp32, {-1, 2}}, {"t", DataType::kBytes, {-1, -1}}}};
    settings_.name = "m";
    settings_.version = 2;
    settings_.max_batch_size = 8;
    settings_.model_inputs = 2;
    settings_.inputs = {{"x", DataType::kFp32, {2}, {}, false, 0, {}, {}},
                        {"s", DataType::kBytes, {-1}, {}, true, 1, {}, {}}};
    settings_.outputs = {{"y", DataType::kFp32, {2}, {}, false, 0, {}, Shape{2}},
                         {"t", DataType::kBytes, {-1}, {}, false, 1, {}, {}}};
  }
  JobPtr make_job(const std::vector<float>& x, const std::vector<std::string>& s = {},
                  std::vector<WantedOutput> wanted = {{0, 0}}) {
    auto job = std::make_unique<Job>();
    job->rows = static_cast<int64_t>(x.size() / 2);
    auto body = std::make_shared<std::pair<std::vector<float>, std::string>>(x, bytes_block(s));
    job->request.body = body;
    job->request.inputs.push_back({"x", DataType::kFp32, {job->rows, 2}, bytes_of(body->first)});
    job->request.inputs.emplace_back();
    if (!s.empty())
      job->request.inputs[1] = {"s",
                                DataType::kBytes,
                                {job->rows, static_cast<int64_t>(s.size()) / job->rows},
                                std::as_bytes(std::span(body->second))};
    job->wanted = std::move(wanted);
    return job;
  }
  Result<std::vector<InferResponse>> run(const Jobs& jobs, TestSession::Run how = TestSession::echo) {
    TestSession session(signature_, [this, how](auto inputs, auto wanted, auto outputs) {
      seen_.assign(inputs.begin(), inputs.end());
      wanted_.assign(wanted.begin(), wanted.end());
      ++runs_;
      return how(inputs, wanted, outputs);
    });
    BatchRunner runner(settings_, session, clock_);
    BatchTimes times;
    return runner.run(jobs, times);
  }

  engine::Signature signature_;
  ModelSettings settings_;
  std::vector<TensorView> seen_;
  std::vector<int> wanted_;
  int runs_ = 0;
  FakeClock clock_;
};

Jobs list(JobPtr a, JobPtr b = nullptr, JobPtr c = nullptr) {
  Jobs jobs;
  for (JobPtr* job : {&a, &b, &c})
    if (*job) jobs.push_back(std::move(*job));
  return jobs;
}

TEST_F(BatchRunnerTest, ALoneRequestIsReadInPlace) {
  Jobs jobs = list(make_job({1, 2}));
  ASSERT_TRUE(run(jobs));
  EXPECT_EQ(seen_[0].data.data(), jobs[0]->request.inputs[0].data.data());
  EXPECT_EQ(seen_[1].type, DataType::kInvalid) << "an input that is left out";
}

TEST_F(BatchRunnerTest, UnalignedMemoryIsCopiedFirst) {
  std::vector<std::byte> memory(9);
  float values[2] = {3, 4};
  std::memcpy(memory.data() + 1, values, sizeof values);
  Jobs jobs = list(make_job({0, 0}));
  jobs[0]->request.inputs[0].data = std::span<const std::byte>(memory).subspan(1);
  auto answers = run(jobs);
  ASSERT_TRUE(answers);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(seen_[0].data.data()) % alignof(float), 0u);
  EXPECT_EQ(floats_of((*answers)[0].outputs[0].data), (std::vector<float>{3, 4}));
}

TEST_F(BatchRunnerTest, EachAnswerHasItsOwnRowsAndId) {
  Jobs jobs = list(make_job({1, 2}), make_job({3, 4, 5, 6}), make_job({7, 8}));
  jobs[1]->request.id = "second";
  auto answers = run(jobs);
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(seen_[0].shape, (Shape{4, 2}));
  ASSERT_EQ(answers->size(), 3u);
  EXPECT_EQ((*answers)[1].id, "second");
  EXPECT_EQ((*answers)[1].version, 2);
  EXPECT_EQ((*answers)[1].outputs[0].shape, (Shape{2, 2}));
  EXPECT_EQ(floats_of((*answers)[1].outputs[0].data), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(floats_of((*answers)[2].outputs[0].data), (std::vector<float>{7, 8}));
  EXPECT_EQ((*answers)[0].outputs[0].owner, (*answers)[2].outputs[0].owner) << "one block for the batch, no copies";
}

TEST_F(BatchRunnerTest, AnswersOutliveTheRunner) {
  Result<std::vector<InferResponse>> answers = run(list(make_job({1, 2}), make_job({3, 4})));
  ASSERT_TRUE(answers);
  answers->erase(answers->begin());
  EXPECT_EQ(floats_of((*answers)[0].outputs[0].data), (std::vector<float>{3, 4}));
}

TEST_F(BatchRunnerTest, TextsOfDifferentLengthsAreDividedByRows) {
  std::vector<WantedOutput> both = {{1, 0}, {0, 0}};
  Jobs jobs = list(make_job({1, 2}, {"a", ""}, both), make_job({3, 4, 5, 6}, {"bcd", "e", "", "fg"}, both));
  auto answers = run(jobs);
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ((*answers)[0].outputs[0].name, "t");
  EXPECT_EQ((*answers)[0].outputs[0].shape, (Shape{1, 2}));
  EXPECT_EQ(text_of((*answers)[0].outputs[0].data), bytes_block({"a", ""}));
  EXPECT_EQ(text_of((*answers)[1].outputs[0].data), bytes_block({"bcd", "e", "", "fg"}));
  EXPECT_EQ((*answers)[1].outputs[1].name, "y");
}

TEST_F(BatchRunnerTest, OnlyRequestedOutputsAreComputed) {
  ASSERT_TRUE(run(list(make_job({1, 2}, {"a"}, {{1, 0}}))));
  EXPECT_EQ(wanted_, (std::vector<int>{1}));
  ASSERT_TRUE(run(list(make_job({1, 2}, {"a"}, {{1, 0}}), make_job({1, 2}, {"a"}, {{0, 0}}))));
  EXPECT_EQ(wanted_, (std::vector<int>{0, 1}));
  auto all = run(list(make_job({1, 2}, {"a"}, {}), make_job({1, 2}, {"a"}, {{0, 0}})));
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[0].outputs.size(), 2u);
  EXPECT_EQ((*all)[1].outputs.size(), 1u);
}

TEST_F(BatchRunnerTest, ClassesAreFoundPerRow) {
  settings_.outputs[0].labels = {"zero", "one"};
  auto answers = run(list(make_job({1, 2, 4, 3}, {}, {{0, 1}}), make_job({5, 6}, {}, {{0, 9}})));
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ((*answers)[0].outputs[0].type, DataType::kBytes);
  EXPECT_EQ((*answers)[0].outputs[0].shape, (Shape{2, 1}));
  EXPECT_EQ(text_of((*answers)[0].outputs[0].data), bytes_block({"2.000000:1:one", "4.000000:0:zero"}));
  EXPECT_EQ((*answers)[1].outputs[0].shape, (Shape{1, 2}));
}

TEST_F(BatchRunnerTest, ClassesOfAModelWithoutBatchingComeFromTheFlatTensor) {
  settings_.max_batch_size = 0;
  settings_.outputs[0].fixed_shape.reset();
  auto answers = run(list(make_job({1, 2, 4, 3}, {}, {{0, 2}})));
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ((*answers)[0].outputs[0].shape, (Shape{2}));
  EXPECT_EQ(text_of((*answers)[0].outputs[0].data), bytes_block({"4.000000:2", "3.000000:3"}));
}

TEST_F(BatchRunnerTest, ReshapesOnBothSides) {
  settings_.inputs[0].reshape = Shape{1, 2, 1};
  settings_.outputs[0].reshape = Shape{1, 2, 1};
  settings_.outputs[0].fixed_shape = Shape{1, 2, 1};
  auto answers = run(list(make_job({1, 2}), make_job({3, 4})));
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ(seen_[0].shape, (Shape{2, 1, 2, 1}));
  EXPECT_EQ((*answers)[0].outputs[0].shape, (Shape{1, 2}));
}

TEST_F(BatchRunnerTest, AnOutputThatIsNotPerRowIsAnError) {
  auto wrong = [](auto, auto, std::span<engine::Output> outputs) {
    std::vector<float> one = {1, 2};
    outputs[0].data = {};
    give(outputs[0], DataType::kFp32, {1, 2}, bytes_of(one));
    return ok_status();
  };
  auto answers = run(list(make_job({1, 2}), make_job({3, 4})), wrong);
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().code, Code::kFailed);
  EXPECT_NE(answers.error().message.find("output 'y'"), std::string::npos);
  EXPECT_NE(answers.error().message.find("not the batch size 2"), std::string::npos);
}

TEST_F(BatchRunnerTest, ATypeThatTheModelDidNotDeclareIsAnError) {
  auto wrong = [](auto, auto, std::span<engine::Output> outputs) {
    std::vector<float> one = {1, 2};
    give(outputs[0], DataType::kInt32, {1, 2}, bytes_of(one));
    return ok_status();
  };
  auto answers = run(list(make_job({1, 2})), wrong);
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().code, Code::kFailed);
}

TEST_F(BatchRunnerTest, AnEngineFailureNamesTheModel) {
  auto answers =
      run(list(make_job({1, 2})), [](auto, auto, auto) { return Status(Error{Code::kInvalid, "index out of range"}); });
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().code, Code::kFailed);
  EXPECT_EQ(answers.error().message, "model 'm' failed: index out of range");
}

TEST_F(BatchRunnerTest, MemoryExhaustionIsAFailureOfTheBatch) {
  auto answers = run(list(make_job({1, 2})), [](auto, auto, auto) -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().code, Code::kFailed);
}

TEST_F(BatchRunnerTest, EmptyTensorsPassThrough) {
  settings_.inputs[0].dims = {-1};
  settings_.outputs[0].dims = {-1};
  settings_.outputs[0].fixed_shape.reset();
  JobPtr job = make_job({1, 2});
  job->request.inputs[0].shape = {1, 0};
  job->request.inputs[0].data = {};
  auto answers = run(list(std::move(job)));
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_NE(seen_[0].data.data(), nullptr) << "engines refuse null";
  EXPECT_EQ((*answers)[0].outputs[0].shape, (Shape{1, 0}));
  EXPECT_TRUE((*answers)[0].outputs[0].data.empty());
}

// x FP32 [N,1], start INT32 [N,1], s FP32 [N,1] → y = x + s, FP32 [N,1], which is the next s.
class SequenceRunTest : public testing::Test {
 protected:
  SequenceRunTest() {
    const auto one = [](const char* name, DataType type) { return TensorSpec{name, type, {-1, 1}}; };
    signature_ = {{one("x", DataType::kFp32), one("start", DataType::kInt32), one("s", DataType::kFp32)},
                  {one("y", DataType::kFp32)}};
    settings_.name = "m";
    settings_.max_batch_size = 4;
    settings_.model_inputs = 3;
    settings_.inputs = {{"x", DataType::kFp32, {1}, {}, false, 0, {}, {}}};
    settings_.outputs = {{"y", DataType::kFp32, {1}, {}, false, 0, {}, Shape{1}}};
    SequenceSettings sequences;
    sequences.slots = 4;
    const int32_t on = 1;
    sequences.controls = {{SequenceControl::Kind::kStart, DataType::kInt32, 1, std::string(4, '\0'),
                           std::string(reinterpret_cast<const char*>(&on), sizeof on)}};
    const float hundred = 100;
    sequences.states.push_back({2,
                                DataType::kFp32,
                                settings_.outputs[0],
                                0,
                                {1},
                                std::string(reinterpret_cast<const char*>(&hundred), sizeof hundred)});
    settings_.sequences = std::move(sequences);
  }
  JobPtr make_job(Sequence& sequence, float x, bool start = false) {
    auto job = std::make_unique<Job>();
    auto body = std::make_shared<std::vector<float>>(1, x);
    job->request.body = body;
    job->request.inputs.push_back({"x", DataType::kFp32, {1, 1}, bytes_of(*body)});
    job->request.sequence.start = start;
    job->sequence = &sequence;
    return job;
  }
  Status add(std::span<const TensorView> inputs, std::span<engine::Output> outputs) {
    if (fails_) return Error{Code::kFailed, "it failed"};
    std::vector<float> sums = floats_of(inputs[0].data);
    rows_ = sums;
    states_ = floats_of(inputs[2].data);
    starts_.assign(sums.size(), 0);
    std::memcpy(starts_.data(), inputs[1].data.data(), inputs[1].data.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += states_[i];
    give(outputs[0], DataType::kFp32, inputs[0].shape, bytes_of(sums));
    return {};
  }
  // The sums of the jobs.
  Result<std::vector<float>> run(const Jobs& jobs) {
    TestSession session(signature_, [this](auto inputs, auto, auto outputs) { return add(inputs, outputs); });
    BatchRunner runner(settings_, session, clock_);
    BatchTimes times;
    RIDGE_ASSIGN(const std::vector<InferResponse> answers, runner.run(jobs, times));
    std::vector<float> sums;
    for (const InferResponse& answer : answers) sums.push_back(floats_of(answer.outputs[0].data).at(0));
    return sums;
  }

  FakeClock clock_;
  engine::Signature signature_;
  ModelSettings settings_;
  std::vector<float> rows_, states_;
  std::vector<int32_t> starts_;
  bool fails_ = false;
};

TEST_F(SequenceRunTest, ARowIsASlotAndEmptySlotsAreZeros) {
  Sequence a, b;
  a.slot = 1;
  b.slot = 3;
  Jobs jobs;
  jobs.push_back(make_job(a, 5, true));
  jobs.push_back(make_job(b, 7));
  EXPECT_EQ(*run(jobs), (std::vector<float>{105, 107}));
  EXPECT_EQ(rows_, (std::vector<float>{0, 5, 0, 7}));
  EXPECT_EQ(states_, (std::vector<float>{0, 100, 0, 100}));
  EXPECT_EQ(starts_, (std::vector<int32_t>{0, 1, 0, 0}));
}

TEST_F(SequenceRunTest, WithoutSlotsRowsFollowOneAnother) {
  settings_.sequences->row_is_slot = false;
  Sequence a, b;
  a.slot = 1;
  b.slot = 3;
  Jobs jobs;
  jobs.push_back(make_job(a, 5));
  jobs.push_back(make_job(b, 7, true));
  EXPECT_EQ(*run(jobs), (std::vector<float>{105, 107}));
  EXPECT_EQ(rows_, (std::vector<float>{5, 7}));
  EXPECT_EQ(starts_, (std::vector<int32_t>{0, 1}));
}

TEST_F(SequenceRunTest, TheStateOfARequestIsTheNextOnesAndSurvivesAFailure) {
  Sequence a;
  a.slot = 0;
  Jobs jobs(1);
  for (const float sum : {101.F, 102.F}) {
    jobs[0] = make_job(a, 1);
    EXPECT_EQ(*run(jobs), std::vector<float>{sum});
  }
  fails_ = true;
  jobs[0] = make_job(a, 1);
  EXPECT_FALSE(run(jobs));
  fails_ = false;
  jobs[0] = make_job(a, 1);
  EXPECT_EQ(*run(jobs), std::vector<float>{103});
}

TEST_F(SequenceRunTest, AWarmUpOfManyRowsBeginsWithTheInitialState) {
  auto job = std::make_unique<Job>();
  const std::vector<float> x = {1, 2, 3};
  job->request.inputs.push_back({"x", DataType::kFp32, {3, 1}, bytes_of(x)});
  job->rows = 3;
  Jobs jobs;
  jobs.push_back(std::move(job));
  ASSERT_TRUE(run(jobs));
  EXPECT_EQ(states_, (std::vector<float>{100, 100, 100}));
  EXPECT_EQ(starts_, (std::vector<int32_t>{1, 1, 1}));
}

}  // namespace
}  // namespace ridge::serve
