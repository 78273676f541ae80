// Requests with tensors in shared memory, through a whole server with a test session.
#include <gtest/gtest.h>

#include <atomic>

#include "serve/server.h"
#include "serve/test_region.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

class RegionRequestTest : public testing::Test {
 protected:
  // A server whose model 'm' (x FP32 [-1,2] → y) does `run`.
  std::unique_ptr<Server> start_with(TestSession::Run run, const std::string& config = "max_batch_size: 4\n") {
    folder_.write("m/1/model.onnx", "");
    folder_.write("m/config.pbtxt", config);
    ServerOptions options;
    options.repositories = {folder_.path()};
    options.open = [run, this](const plan::Plan&) {
      return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(signature_, run));
    };
    auto server = start(std::move(options));
    EXPECT_TRUE(server);
    EXPECT_TRUE((*server)->ready());
    return std::move(*server);
  }
  static Error error_of(Result<InferResponse> answer) {
    EXPECT_FALSE(answer);
    return answer ? Error{} : answer.error();
  }

  TestFolder folder_;
  engine::Signature signature_ = pair_signature();
};

TEST_F(RegionRequestTest, ALoneTensorIsReadWhereItLies) {
  TestObject object(4096);
  object.write({1, 2, 3, 4}, 64);
  std::atomic<bool> armed = false;
  auto server = start_with([&](auto inputs, auto wanted, auto outputs) {
    if (armed) object.write({9}, 64);  // visible to the engine only if it reads the region itself
    return TestSession::echo(inputs, wanted, outputs);
  });
  ASSERT_TRUE(server->register_region(object.as("r")));
  armed = true;
  auto answer = infer(*server, region_pair_request("r", 2, 64)).get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(floats_of(answer->outputs[0].data), (std::vector<float>{9, 2, 3, 4}));
}

TEST_F(RegionRequestTest, IntegersAreCopiedBeforeTheEngineSeesThem) {
  signature_ = {{{"x", DataType::kInt32, {-1, 2}}}, {{"y", DataType::kInt32, {-1, 2}}}};
  TestObject object(4096);
  std::atomic<bool> armed = false;
  auto server = start_with([&](auto inputs, auto wanted, auto outputs) {
    if (armed) object.write({9, 9});
    return TestSession::echo(inputs, wanted, outputs);
  });
  ASSERT_TRUE(server->register_region(object.as("r")));
  object.write({0, 0});
  armed = true;
  InferRequest request = region_pair_request("r", 1);
  request.inputs[0].type = DataType::kInt32;
  auto answer = infer(*server, std::move(request)).get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(floats_of(answer->outputs[0].data), (std::vector<float>{0, 0})) << "an index cannot change under its check";
}

TEST_F(RegionRequestTest, RequestsThatAreMergedGetTheirOwnRowsInTheirOwnRegions) {
  Gate gate;
  std::atomic<bool> armed = false;
  std::vector<int64_t> rows;
  auto server = start_with(
      [&](auto inputs, auto wanted, auto outputs) {
        if (armed) {
          gate.pass();
          rows.push_back(inputs[0].shape[0]);
        }
        return TestSession::echo(inputs, wanted, outputs);
      },
      "max_batch_size: 4\ndynamic_batching { }\n");
  TestObject a(4096), b(4096);
  a.write({1, 2, 3, 4}), b.write({5, 6}, 8);
  ASSERT_TRUE(server->register_region(a.as("a")) && server->register_region(b.as("b")));
  armed = true;
  auto first = infer(*server, pair_request("m", {0, 0}));
  gate.await(1);
  InferRequest two = region_pair_request("a", 2), one = region_pair_request("b", 1, 8);
  two.outputs = {{"y", 0, SharedMemoryView{"a", 100, 16}}};
  one.outputs = {{"y", 0, SharedMemoryView{"b", 104, 200}}};
  auto second = infer(*server, std::move(two)), third = infer(*server, std::move(one));
  gate.open();
  ASSERT_TRUE(first.get());
  auto answer = second.get();
  ASSERT_TRUE(answer && third.get());
  EXPECT_EQ(rows, (std::vector<int64_t>{1, 3}));
  EXPECT_TRUE(answer->outputs[0].in_region);
  EXPECT_TRUE(answer->outputs[0].data.empty());
  EXPECT_EQ(answer->outputs[0].shape, (Shape{2, 2}));
  EXPECT_EQ(a.read(4, 100), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(b.read(3, 104), (std::vector<float>{5, 6, 0})) << "and nothing behind it";
}

TEST_F(RegionRequestTest, SizesThatDoNotFitAreRefused) {
  auto server = start_with(TestSession::echo);
  TestObject object(64);
  ASSERT_TRUE(server->register_region(object.as("r")));
  InferRequest wrong = region_pair_request("r", 1);
  wrong.inputs[0].part->byte_size = 12;
  Error refused = error_of(infer(*server, std::move(wrong)).get());
  EXPECT_EQ(refused.code, Code::kInvalid);
  EXPECT_NE(refused.message.find("needs 8 bytes, got 12"), std::string::npos) << refused.message;
  InferRequest small = region_pair_request("r", 2);
  small.outputs = {{"y", 0, SharedMemoryView{"r", 32, 15}}};
  refused = error_of(infer(*server, std::move(small)).get());
  EXPECT_EQ(refused.code, Code::kInvalid);
  EXPECT_NE(refused.message.find("should be at least 16 bytes"), std::string::npos) << refused.message;
  EXPECT_EQ((*server->statistics("m", 0))[0].execution_count, 0u) << "known before the engine runs";
  InferRequest classes = region_pair_request("r", 1);
  classes.outputs = {{"y", 1, SharedMemoryView{"r", 32, 15}}};
  EXPECT_NE(error_of(infer(*server, std::move(classes)).get()).message.find("classification"), std::string::npos);
}

TEST_F(RegionRequestTest, AnOutputThatTurnsOutTooLargeFailsItsOwnRequestOnly) {
  signature_.outputs[0].shape = {-1, -1};
  Gate gate;
  std::atomic<bool> armed = false;
  auto server = start_with(
      [&](auto inputs, auto wanted, auto outputs) {
        if (armed) gate.pass();
        return TestSession::echo(inputs, wanted, outputs);
      },
      "max_batch_size: 4\ndynamic_batching { }\n");
  TestObject object(64);
  object.write({1, 2});
  ASSERT_TRUE(server->register_region(object.as("r")));
  armed = true;
  auto first = infer(*server, pair_request("m", {0, 0}));
  gate.await(1);
  InferRequest small = region_pair_request("r", 1);
  small.outputs = {{"y", 0, SharedMemoryView{"r", 32, 7}}};
  auto second = infer(*server, std::move(small)), third = infer(*server, pair_request("m", {3, 4}));
  gate.open();
  ASSERT_TRUE(first.get());
  Error refused = error_of(second.get());
  EXPECT_EQ(refused.code, Code::kInvalid);
  EXPECT_NE(refused.message.find("should be at least 8 bytes"), std::string::npos) << refused.message;
  auto answer = third.get();
  ASSERT_TRUE(answer);
  EXPECT_EQ(floats_of(answer->outputs[0].data), (std::vector<float>{3, 4}));
  EXPECT_EQ(object.read(2, 32), (std::vector<float>{0, 0})) << "nothing was written";
  ModelStatistics statistics = (*server->statistics("m", 0))[0];
  EXPECT_EQ(statistics.success.count, 2u);
  EXPECT_EQ(statistics.fail.count, 1u);
  EXPECT_EQ(statistics.other_failed, 1u);
  EXPECT_EQ(statistics.inference_count, 3u) << "rows that the engine ran";
}

TEST_F(RegionRequestTest, MemoryThatGoesAwayWhileTheEngineReadsItFailsTheRequestNotTheServer) {
  TestObject object(4096);
  std::atomic<bool> armed = false;
  auto server = start_with([&](auto inputs, auto wanted, auto outputs) {
    if (armed.exchange(false)) object.resize(0);
    return TestSession::echo(inputs, wanted, outputs);
  });
  ASSERT_TRUE(server->register_region(object.as("r")));
  armed = true;
  Error lost = error_of(infer(*server, region_pair_request("r", 1)).get());
  EXPECT_EQ(lost.code, Code::kInvalid);
  EXPECT_NE(lost.message.find("disappeared"), std::string::npos) << lost.message;
  EXPECT_TRUE(infer(*server, pair_request("m", {1, 2})).get()) << "others go on";
  object.resize(4096);
  EXPECT_NE(error_of(infer(*server, region_pair_request("r", 1)).get()).message.find("register it again"),
            std::string::npos);
  server->unregister_regions(RegionKind::kSystem, "r");
  ASSERT_TRUE(server->register_region(object.as("r")));
  EXPECT_TRUE(infer(*server, region_pair_request("r", 1)).get());
}

TEST_F(RegionRequestTest, ARegionMayBeUnregisteredWhileItIsInUse) {
  Gate gate;
  std::atomic<bool> armed = false;
  auto server = start_with([&](auto inputs, auto wanted, auto outputs) {
    if (armed) gate.pass();
    return TestSession::echo(inputs, wanted, outputs);
  });
  TestObject object(4096);
  object.write({1, 2});
  ASSERT_TRUE(server->register_region(object.as("r")));
  armed = true;
  InferRequest request = region_pair_request("r", 1);
  request.outputs = {{"y", 0, SharedMemoryView{"r", 64, 8}}};
  auto running = infer(*server, std::move(request));
  gate.await(1);
  server->unregister_regions(RegionKind::kSystem, "");
  EXPECT_EQ(error_of(infer(*server, region_pair_request("r", 1)).get()).code, Code::kNotFound);
  gate.open();
  ASSERT_TRUE(running.get());
  EXPECT_EQ(object.read(2, 64), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace ridge::serve
