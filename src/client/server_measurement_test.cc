#include "client/server_measurement.h"

#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

namespace ridge::client {
namespace {

TEST(ServerMeasurement, IsReadBackAsItWasWritten) {
  ServerMeasurement m;
  m.url = "http://h:80/v2/models/m";
  m.payload = Payload::kJson;
  m.inputs.push_back({"x", "FP32", {1, 16}, "random, seed 1"});
  Point& closed = m.points.emplace_back();
  closed.concurrency = 4;
  closed.samples = 10;
  closed.ci95_percent = std::numeric_limits<double>::infinity();  // of one sample; JSON has none
  closed.failures["503"] = 2;
  closed.failures["timeout"] = 1;
  closed.problems["503"] = "full";
  closed.server.emplace().batches["4"] = 3;
  Point& open = m.points.emplace_back();
  open.rate_per_s = 100;
  open.load = measure::OpenLoad{100, 99, 0.5, 0.1};
  open.percent_of_limit = 12;
  m.search.emplace().highest_per_s = 90;
  m.limit.emplace().limiter = cost::Limiter::kMemory;
  const Json json = json_of(m);
  EXPECT_EQ(json["points"][0]["failed"], 3);
  EXPECT_EQ(json["points"][0]["rate_per_s"], nullptr);
  EXPECT_EQ(json["points"][1]["server"], nullptr);
  const auto back = from_json<ServerMeasurement>(json);
  ASSERT_TRUE(back) << back.error().message;
  Json again = json_of(*back);
  again["points"][0]["ci95_percent"] = nullptr;
  Json expected = json;
  expected["points"][0]["ci95_percent"] = nullptr;
  EXPECT_EQ(dump_json(again), dump_json(expected));
}

}  // namespace
}  // namespace ridge::client
