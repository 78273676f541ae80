#include "serve/shadow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "serve/test_session.h"

namespace ridge::serve {
namespace {

ResponseOutput floats(const std::string& name, const std::vector<float>& values) {
  auto memory = std::make_shared<std::vector<float>>(values);
  return {name, DataType::kFp32, {1, static_cast<int64_t>(values.size())}, std::as_bytes(std::span(*memory)), memory};
}

InferResponse answer(std::vector<ResponseOutput> outputs) { return {"m", 1, "", std::move(outputs)}; }

TEST(ShadowDifference, IsTheLargestRelativeDistanceOfTheOutputs) {
  const InferResponse client = answer({floats("a", {3, 4}), floats("b", {1, 0})});
  EXPECT_EQ(difference(client, client), 0);
  EXPECT_NEAR(difference(client, answer({floats("a", {3, 4.5}), floats("b", {1, 0})})), 0.1, 1e-12);
  EXPECT_NEAR(difference(client, answer({floats("a", {3, 4.5}), floats("b", {1, 0.3F})})), 0.3, 1e-6);
}

TEST(ShadowDifference, IsInfiniteWhereNothingCanBeCompared) {
  const float nan = std::nanf("");
  const InferResponse client = answer({floats("a", {3, 4})});
  EXPECT_TRUE(std::isinf(difference(client, answer({floats("other", {3, 4})}))));
  EXPECT_TRUE(std::isinf(difference(client, answer({floats("a", {3, 4, 5})}))));
  EXPECT_TRUE(std::isinf(difference(client, answer({floats("a", {3, nan})}))));
  EXPECT_TRUE(std::isinf(difference(client, answer({}))));
  EXPECT_TRUE(std::isinf(difference(answer({floats("a", {0, 0})}), answer({floats("a", {0, 1})}))));
  EXPECT_EQ(difference(answer({floats("a", {3, nan})}), answer({floats("a", {3, nan})})), 0) << "the same bits";
}

TEST(ShadowDifference, IntegersAreTheSameOrNot) {
  auto one = answer({floats("a", {1})}), other = answer({floats("a", {2})});
  one.outputs[0].type = other.outputs[0].type = DataType::kInt32;
  EXPECT_TRUE(std::isinf(difference(one, other)));
  EXPECT_EQ(difference(one, one), 0);
}

TEST(ShadowRoute, ReadsModelVersionAndPercent) {
  const ShadowRoute all = *parse_shadow_route("m:2"), some = *parse_shadow_route("m:3:2.5");
  EXPECT_EQ(std::tuple(all.model, all.version, all.share), std::tuple("m", 2, 1.0));
  EXPECT_EQ(std::tuple(some.version, some.share), std::tuple(3, 0.025));
  for (const char* text : {"", "m", ":2", "m:", "m:0", "m:two", "m:2:", "m:2:0", "m:2:101", "m:2:nan", "m:2:5:1"})
    EXPECT_FALSE(parse_shadow_route(text)) << text;
}

// Version 1 of "m" repeats its input, version 2 gives twice as much, or fails.
class ShadowsTest : public testing::Test {
 protected:
  void start(double share, bool fails = false) {
    folder_.write("m/1/model.onnx", "1");
    folder_.write("m/2/model.onnx", "2");
    folder_.write("m/config.pbtxt", R"(version_policy { all { } }
        parameters [ { key: "ridge_warmup" value { string_value: "off" } },
                     { key: "ridge_traffic" value { string_value: "1:1,2:0" } } ])");
    ServerOptions options;
    options.repositories = {folder_.path()};
    options.shadows = {{"m", 2, share}};
    options.open = [fails](const plan::Plan& plan) -> Result<std::unique_ptr<engine::Session>> {
      const bool second = *read_file(plan.model) == "2";
      return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(
          pair_signature(), [second, fails](auto inputs, auto wanted, auto outputs) -> Status {
            if (second && fails) return Error{Code::kFailed, "broken"};
            std::vector<float> values = floats_of(inputs[0].data);
            for (float& value : values) value *= second ? 2.0F : 1.0F;
            for (size_t i = 0; i < wanted.size(); ++i)
              give(outputs[i], DataType::kFp32, inputs[0].shape, bytes_of(values));
            return {};
          }));
    };
    server_ = std::move(*Server::create(std::move(options)));
    server_->load_all();
  }
  void ask(int times, int64_t version = 0) {
    for (int i = 0; i < times; ++i) {
      InferRequest request = pair_request("m", {3, 4});
      request.version = version;
      const auto got = infer(*server_, std::move(request)).get();
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->version, version == 0 ? 1 : version);
    }
  }
  ShadowStatistics settled(uint64_t copies) const {
    while (true) {
      const ShadowStatistics found = server_->shadows().at(0);
      if (found.compared + found.failed + found.skipped >= copies) return found;
      std::this_thread::yield();
    }
  }

  TestFolder folder_;
  std::unique_ptr<Server> server_;
};

TEST_F(ShadowsTest, RequestsThatAnotherVersionAnswersAreComparedAndClientsSeeNothing) {
  start(1);
  ask(10);
  ask(5, 2);  // the shadow's own
  const ShadowStatistics found = settled(10);
  EXPECT_EQ(found.compared, 10u);
  EXPECT_NEAR(found.difference.sum_s, 10.0, 1e-9) << "twice as much is off by itself";
  EXPECT_EQ(found.difference.counts.back(), 10u);
  EXPECT_EQ(found.shadow_time.counts.back(), 10u);
  EXPECT_EQ(found.answered_time.counts.back(), 10u);
}

TEST_F(ShadowsTest, AShareOfThemIsCopied) {
  start(0.25);
  ask(40);
  EXPECT_EQ(settled(10).compared, 10u);
  server_->drain();
  EXPECT_EQ(server_->shadows().at(0).compared, 10u);
}

TEST_F(ShadowsTest, FailuresOfTheShadowAreCountedAndAreNotTheClients) {
  start(1, true);
  ask(3);
  EXPECT_EQ(settled(3).failed, 3u);
  EXPECT_EQ(server_->shadows().at(0).compared, 0u);
}

}  // namespace
}  // namespace ridge::serve
