#include "base/schema.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ridge {
namespace {

struct Times {
  double p50 = 0, p99 = 0;
};
void visit_fields(auto& visit, Is<Times> auto& times) {
  visit("p50", times.p50);
  visit("p99", times.p99);
}

struct Queue {
  std::optional<double> wait_ms;
  double rows = 0;
};
void visit_fields(auto& visit, Is<Queue> auto& queue) {
  visit("wait_ms", queue.wait_ms, means("mean wait").column("wait").csv().low_is_better());
  visit("mean_rows", queue.rows);
}

struct Load {
  int64_t callers = 0;
  Times latency_ms, gap_ms;
  Queue queue;
  double rate = 0;
  std::map<std::string, int64_t> failures;
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<Load> auto& load) {
  visit("callers", load.callers, means("connections").column("callers").csv());
  visit("latency_ms", load.latency_ms, means("of a request").part_columns("p50 p99").csv().low_is_better());
  visit("gap_ms", load.gap_ms, means("of a token").part_columns("p99", "{} of gaps").csv("gap"));
  visit("queue", load.queue, means("of the server").groups_columns().csv());
  visit.optional("rate_per_s", load.rate, means("answered").csv().or_null());
  visit.derived("failed", Derived{load.failures.size(), means("their number").column("failed")});
  visit("failures", load.failures);
  visit.unless_empty("notes", load.notes);
}

TEST(Schema, IsOfTheListOfFields) {
  const Json schema = schema_of<Load>();
  const Json& members = schema.at("properties");
  EXPECT_EQ(schema.at("required"),
            Json({"callers", "latency_ms", "gap_ms", "queue", "rate_per_s", "failed", "failures"}));
  EXPECT_EQ(members.at("callers").at("type"), "integer");
  EXPECT_EQ(members.at("callers").at("description"), "connections");
  EXPECT_EQ(members.at("queue").at("properties").at("wait_ms").at("type"), Json({"number", "null"}));
  EXPECT_EQ(members.at("queue").at("properties").at("wait_ms").at("better"), "low");
  EXPECT_EQ(members.at("rate_per_s").at("type"), Json({"number", "null"}));
  EXPECT_EQ(members.at("rate_per_s").at("unit"), "/s");
  EXPECT_EQ(members.at("failures").at("additionalProperties").at("type"), "integer");
  EXPECT_EQ(members.at("notes").at("items").at("type"), "string");
}

struct Rate {
  bool measured = false;
  double spread = 0;
  Times times;
};
void visit_fields(auto& visit, Is<Rate> auto& rate) {
  visit("measured", rate.measured);
  visit.when(rate.measured, [&](auto& then) {
    then("spread_percent", rate.spread, means("of the bursts"));
    then.object("times", [&](auto& times) { visit_fields(times, rate.times); });
  });
}

TEST(Schema, OfMembersThatOthersDecideRequiresNone) {
  const Json schema = schema_of<Rate>();
  EXPECT_EQ(schema.at("required"), Json({"measured"}));
  EXPECT_EQ(schema.at("properties").at("spread_percent").at("description"), "of the bursts");
  EXPECT_EQ(schema.at("properties").at("times").at("required"), Json({"p50", "p99"})) << "of times that are there";
}

TEST(Schema, ColumnsAreTheFiguresThatSaySo) {
  std::vector<std::string> shown;
  for (const Column& column : columns_of(schema_of<Load>()))
    shown.push_back(column.id + "|" + column.label + "|" + column.unit);
  EXPECT_EQ(shown, (std::vector<std::string>{"callers|callers|", "latency-p50|p50|ms", "latency-p99|p99|ms",
                                             "gap-p99|p99 of gaps|ms", "queue-wait|wait|ms", "failed|failed|"}));
  EXPECT_EQ(columns_of(schema_of<Load>())[1].better, Better::kLow) << "as the value that it is a part of";
}

struct Predicted {
  double ms = 0;
  int64_t runs = 0;
  Times range;
};
void visit_fields(auto& visit, Is<Predicted> auto& predicted) {
  visit("ms", predicted.ms, Figure().column("time"));
  visit("runs", predicted.runs, Figure().column("runs"));
  visit("range_ms", predicted.range, Figure().range_of("/ms"));
}

TEST(Schema, ARangeIsTheColumnBehindItsFigure) {
  std::vector<std::string> members;
  for (const Column& column : columns_of(schema_of<Predicted>())) members.push_back(column.member + column.range_of);
  EXPECT_EQ(members, (std::vector<std::string>{"/ms", "/range_ms/ms", "/runs"}));
}

TEST(Schema, ColumnsOfCsvHaveTheirUnitsLast) {
  EXPECT_EQ(csv_columns_of(schema_of<Load>()),
            "callers=/callers p50_ms=/latency_ms/p50 p99_ms=/latency_ms/p99 gap_p50_ms=/gap_ms/p50 "
            "gap_p99_ms=/gap_ms/p99 wait_ms=/queue/wait_ms rate_per_s=/rate_per_s");
}

}  // namespace
}  // namespace ridge
