#include "front/tracer.h"

#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "base/fake_clock.h"
#include "base/json.h"

namespace ridge::front {
namespace {

using namespace std::chrono_literals;

constexpr const char* kSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr const char* kNotSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

class TracerTest : public testing::Test {
 protected:
  std::unique_ptr<Tracer> start(TraceOptions options) {
    options.on = true;
    options.send_period = 1h;
    auto send = [this](const std::string& body) {
      bodies_.push_back(*parse_json(body, "the body"));
      return taken_ ? Status() : Status(Error{Code::kUnavailable, "no connection"});
    };
    return std::make_unique<Tracer>(std::move(options), send, clock_);
  }
  bool traces(Tracer& tracer, const char* parent = "", const char* model = "m") {
    return tracer.begin(
               {.protocol = "http", .model = model, .parent = parent, .state = "a=b", .arrived = clock_.now()}) !=
           nullptr;
  }
  int traced(Tracer& tracer, int requests, const char* model = "m") {
    int count = 0;
    for (int i = 0; i < requests; ++i) count += traces(tracer, "", model) ? 1 : 0;
    return count;
  }
  // Spans of the last body.
  Json spans() const { return bodies_.back()["resourceSpans"][0]["scopeSpans"][0]["spans"]; }

  FakeClock clock_;
  std::vector<Json> bodies_;
  bool taken_ = true;
};

TEST_F(TracerTest, TracesOneInRateAndThoseWhoseCallerDoes) {
  const auto tracer = start({.rate = 4});
  EXPECT_EQ(traced(*tracer, 12), 3);
  EXPECT_TRUE(traces(*tracer, kSampled));
  EXPECT_FALSE(traces(*tracer, kNotSampled));
  EXPECT_EQ(traced(*tracer, 4), 1);  // those with a context do not count
}

TEST_F(TracerTest, AModelsSettingsReplaceTheServersUntilTheyAreCleared) {
  const auto tracer = start({.rate = 1});
  ASSERT_TRUE(tracer->change("a", {{"trace_rate", {{"2"}}}, {"trace_count", {{"3"}}}}));
  EXPECT_EQ(traced(*tracer, 10, "a"), 3);
  EXPECT_EQ(traced(*tracer, 10, "b"), 10);
  ASSERT_TRUE(tracer->change("a", {{"trace_rate", std::nullopt}, {"trace_count", std::vector<std::string>{}}}));
  EXPECT_EQ(traced(*tracer, 10, "a"), 10);
  ASSERT_TRUE(tracer->change("", {{"trace_level", {{"OFF"}}}}));
  EXPECT_FALSE(traces(*tracer, kSampled));
  EXPECT_EQ(tracer->settings("a")[0].second, std::vector<std::string>{"OFF"});
  ASSERT_TRUE(tracer->change("", {{"trace_level", std::nullopt}}));
  EXPECT_TRUE(traces(*tracer, kSampled));
}

TEST_F(TracerTest, SettingsThatDoNotFitChangeNothing) {
  const auto tracer = start({.rate = 7});
  const TraceSettings before = tracer->settings("");
  for (const TraceChanges& wrong :
       std::initializer_list<TraceChanges>{{{"trace_rate", {{"0"}}}},
                                           {{"trace_rate", {{"1", "2"}}}},
                                           {{"trace_count", {{"-2"}}}},
                                           {{"trace_level", {{"TENSORS"}}}},
                                           {{"trace_level", {{"TIMESTAMPS", "TENSORS"}}}},
                                           {{"log_frequency", {{"5"}}}},
                                           {{"trace_file", {{"/tmp/x"}}}},
                                           {{"trace_mode", {{"triton"}}}},
                                           {{"other", {{"1"}}}},
                                           {{"trace_level", {{"OFF"}}}, {"zzz", {{"1"}}}}}) {
    const Status changed = tracer->change("", wrong);
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, Code::kInvalid);
    EXPECT_EQ(tracer->settings(""), before);
  }
  EXPECT_TRUE(tracer->change("", {{"log_frequency", {{"0"}}}, {"trace_mode", {{"opentelemetry"}}}}));
  EXPECT_EQ(change_trace_settings(nullptr, "", {{"trace_rate", {{"1"}}}}).error().code, Code::kUnavailable);
  EXPECT_EQ(trace_settings(nullptr, "")[0].second, std::vector<std::string>{"OFF"});
}

TEST_F(TracerTest, SpansAreTheRequestAndItsStagesOneAfterTheOther) {
  const auto tracer = start({.rate = 1, .resource = {{"service.name", "shop"}}});
  auto trace =
      tracer->begin({.protocol = "grpc", .model = "m", .parent = kSampled, .state = "a=b", .arrived = clock_.now()});
  const TimePoint t = clock_.now();
  *stages_of(trace) = {.queued = t + 1ms,
                       .started = t + 3ms,
                       .inputs_ready = t + 4ms,
                       .computed = t + 9ms,
                       .outputs_ready = t + 10ms,
                       .version = 2,
                       .batch_rows = 8,
                       .batch_requests = 3};
  trace->record.request_id = "r1";
  clock_.advance(12ms);
  trace.reset();
  tracer->flush();
  EXPECT_EQ(bodies_.back()["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "shop");
  const Json list = spans();
  ASSERT_EQ(list.size(), 7u);
  const Json& request = list[0];
  EXPECT_EQ(request["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(request["parentSpanId"], "00f067aa0ba902b7");
  EXPECT_EQ(request["traceState"], "a=b");
  EXPECT_EQ(request["kind"], 2);
  EXPECT_EQ(dump_json(request["attributes"]), R"([{"key":"triton.model_name","value":{"stringValue":"m"}},)"
                                              R"({"key":"triton.model_version","value":{"intValue":"2"}},)"
                                              R"({"key":"triton.request_id","value":{"stringValue":"r1"}},)"
                                              R"({"key":"ridge.protocol","value":{"stringValue":"grpc"}},)"
                                              R"({"key":"ridge.batch_rows","value":{"intValue":"8"}},)"
                                              R"({"key":"ridge.batch_requests","value":{"intValue":"3"}}])");
  auto time = [](const Json& span, const char* member) { return std::stoll(span[member].get<std::string>()); };
  EXPECT_EQ(time(request, "endTimeUnixNano") - time(request, "startTimeUnixNano"), 12'000'000);
  EXPECT_LT(std::abs(time(request, "startTimeUnixNano") / 1'000'000'000 - std::time(nullptr)), 60);
  long long from = time(request, "startTimeUnixNano");
  const std::pair<const char*, int> kStages[] = {{"receive", 1}, {"queue", 2},  {"input", 1},
                                                 {"infer", 5},   {"output", 1}, {"send", 2}};
  for (size_t i = 0; i < 6; ++i) {
    const Json& stage = list[i + 1];
    EXPECT_EQ(stage["name"], kStages[i].first);
    EXPECT_EQ(stage["parentSpanId"], request["spanId"]);
    EXPECT_EQ(stage["traceId"], request["traceId"]);
    EXPECT_EQ(time(stage, "startTimeUnixNano"), from);
    from = time(stage, "endTimeUnixNano");
    EXPECT_EQ(from - time(stage, "startTimeUnixNano"), kStages[i].second * 1'000'000);
  }
}

TEST_F(TracerTest, ARequestThatWasNotRunHasOneSpanWithTheError) {
  const auto tracer = start({.rate = 1});
  auto trace = tracer->begin({.protocol = "http", .model = "m", .parent = {}, .state = {}, .arrived = clock_.now()});
  trace->record.error = "queue full";
  trace.reset();
  tracer->flush();
  ASSERT_EQ(spans().size(), 1u);
  EXPECT_EQ(dump_json(spans()[0]["status"]), R"({"code":2,"message":"queue full"})");
  EXPECT_FALSE(spans()[0].contains("parentSpanId"));
  EXPECT_EQ(tracer->counts().sent, 1u);
}

TEST_F(TracerTest, ACollectorThatDoesNotAnswerCostsMemoryForSoManyTracesOnly) {
  taken_ = false;
  const auto tracer = start({.rate = 1, .most_waiting = 10, .most_in_batch = 4});
  EXPECT_EQ(traced(*tracer, 15), 15);
  tracer->flush();
  EXPECT_EQ(bodies_.size(), 1u);  // the other batches are not tried
  EXPECT_EQ(tracer->counts().sent, 0u);
  EXPECT_EQ(tracer->counts().dropped, 10u + 5 * 7);
  taken_ = true;
  EXPECT_EQ(traced(*tracer, 5), 5);
  tracer->flush();
  EXPECT_EQ(bodies_.size(), 3u);
  EXPECT_EQ(tracer->counts().sent, 5u);
}

TEST_F(TracerTest, AnEndIsNotHeldUpByACollectorThatDoesNotAnswer) {
  struct Silent {
    std::promise<void> asked, answers;
  };
  const auto collector = std::make_shared<Silent>();
  Tracer tracer({.on = true, .rate = 1, .send_period = 10ms}, [collector](const std::string&) {
    collector->asked.set_value();
    collector->answers.get_future().wait();
    return Status();
  });
  EXPECT_TRUE(traces(tracer));
  collector->asked.get_future().wait();
  EXPECT_EQ(traced(tracer, 2), 2);
  tracer.close(1ms);
  EXPECT_EQ(tracer.counts().dropped, 3u);
  collector->answers.set_value();  // is not counted
  EXPECT_EQ(tracer.counts().sent, 0u);
}

TEST_F(TracerTest, ATraceThatEndsAfterItsTracerReachesNobody) {
  auto tracer = start({.rate = 1});
  auto trace = tracer->begin({.protocol = "http", .model = "m", .parent = {}, .state = {}, .arrived = clock_.now()});
  tracer.reset();
  trace.reset();
  EXPECT_TRUE(bodies_.empty());
}

}  // namespace
}  // namespace ridge::front
