#include "app/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "app/kept.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "client/server_measurement.h"
#include "measure/measurement.h"
#include "measure/statistics.h"

namespace ridge::app {
namespace {

measure::Measurement measured(uint64_t seed, double median_ms) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> latency(std::log(median_ms), 0.05);
  std::vector<double> latencies(2000);
  for (double& value : latencies) value = latency(random);
  measure::Measurement m;
  m.model = "m.onnx";
  m.model_digest = "a";
  m.engine = "onnxruntime";
  m.device = "cpu";
  m.latency_ms = measure::latency_of(latencies);
  m.ci95_percent = measure::half_width_percent(latencies, 0.95);
  m.samples = 2000;
  m.throughput_per_s = 1e3 / m.latency_ms.mean;
  m.histogram = measure::histogram_of(latencies);
  return m;
}

Json kept(const measure::Measurement& m, const std::string& verb = "bench", const std::string& machine = "here") {
  About about;
  about.command = {verb, "ridge " + verb + " m.onnx", "2026-11-23T12:00:00Z"};
  about.version = RIDGE_VERSION;
  about.machine = {"CPU", 2, machine};
  return document(about, to_json(m));
}

tune::Change verdict_of(const Comparison& comparison, const std::string& id) {
  for (const tune::FigureChange& row : comparison.figures)
    if (row.id == id) return row.verdict;
  ADD_FAILURE() << "no figure " << id;
  return tune::Change::kNotComparable;
}

std::vector<std::string> caveats_of(const Comparison& comparison) {
  std::vector<std::string> ids;
  for (const Caveat& caveat : comparison.caveats) ids.push_back(caveat.id);
  return ids;
}

TEST(Compare, AMeasurementDoesNotDifferFromItself) {
  const Result<Comparison> same = compare(kept(measured(1, 5)), kept(measured(1, 5)), 0);
  ASSERT_TRUE(same) << same.error().message;
  for (const char* id : {"throughput", "mean", "p50", "p90", "p99"})
    EXPECT_EQ(verdict_of(*same, id), tune::Change::kAsBefore) << id;
  EXPECT_EQ(verdict_of(*same, "load"), tune::Change::kNotComparable);
  EXPECT_FALSE(same->slower);
  EXPECT_TRUE(same->caveats.empty());
}

TEST(Compare, ASlowerModelIsFoundAndAcceptedUpToTheGivenPercentage) {
  const Json before = kept(measured(1, 5)), now = kept(measured(2, 5.2));
  const Result<Comparison> strict = compare(before, now, 2);
  ASSERT_TRUE(strict);
  EXPECT_EQ(verdict_of(*strict, "throughput"), tune::Change::kRegressed);
  EXPECT_EQ(verdict_of(*strict, "mean"), tune::Change::kRegressed);
  EXPECT_NEAR(strict->figures[1].change_percent, 4, 0.5);
  EXPECT_GT(strict->figures[1].spread_percent, 0);
  EXPECT_TRUE(strict->slower);
  EXPECT_FALSE(compare(before, now, 8)->slower);
  EXPECT_EQ(verdict_of(*compare(now, before, 2), "mean"), tune::Change::kBetter);
  EXPECT_FALSE(compare(now, before, 2)->slower);
}

TEST(Compare, WarnsOfEverythingElseThatDiffers) {
  measure::Measurement other = measured(2, 5);
  other.model_digest = "b";
  other.shapes = {{"x", {4, 16}}};
  other.precision = Precision::kInt8;
  other.engine = "openvino";
  other.threads = 3;
  other.load = measure::OpenLoad{100, 100, 0.5, 0};
  other.disturbance.emplace();
  other.disturbance->seconds = other.disturbance->cpus = 2;
  other.disturbance->steal_share = 0.9;
  const Result<Comparison> comparison = compare(kept(measured(1, 5)), kept(other, "bench", "there"), 0);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(caveats_of(*comparison),
            (std::vector<std::string>{"other-machine", "other-model", "other-shapes", "other-precision", "other-engine",
                                      "other-settings", "other-load", "disturbed"}));
  EXPECT_EQ(verdict_of(*comparison, "throughput"), tune::Change::kNotComparable) << "the load gives it";
}

TEST(Compare, WithoutAnIntervalThereIsNoJudgement) {
  measure::Measurement once = measured(1, 5);
  once.samples = 1;
  once.ci95_percent = 0;
  once.histogram.reset();
  const Result<Comparison> comparison = compare(kept(once), kept(once), 0);
  ASSERT_TRUE(comparison);
  EXPECT_FALSE(comparison->slower);
  EXPECT_NE(comparison->unjudged, "");
}

TEST(Compare, TimesOfABusyMachineAreShownAndNotJudged) {
  measure::Measurement busy = measured(2, 9);
  busy.disturbance.emplace();
  busy.disturbance->seconds = busy.disturbance->cpus = 2;
  busy.disturbance->steal_share = 0.9;
  for (const auto& [before, now] : {std::pair(measured(1, 5), busy), std::pair(busy, measured(1, 2))}) {
    const Result<Comparison> comparison = compare(kept(before), kept(now), 0);
    ASSERT_TRUE(comparison);
    EXPECT_NE(comparison->unjudged, "");
    EXPECT_FALSE(comparison->slower);
    EXPECT_EQ(verdict_of(*comparison, "p50"), tune::Change::kNotComparable);
  }
  EXPECT_EQ(compare(kept(measured(1, 5)), kept(measured(2, 5)), 0)->unjudged, "");
}

// A server's points of these numbers of callers, each with this median.
Json kept_server(std::vector<std::pair<int, double>> points, const std::string& payload = "binary") {
  client::ServerMeasurement m;
  m.url = "http://localhost:8000/v2/models/m";
  m.model = "m";
  m.payload = payload == "json" ? client::Payload::kJson : client::Payload::kBinary;
  uint64_t seed = 1;
  for (const auto& [callers, median_ms] : points) {
    const measure::Measurement run = measured(++seed + static_cast<uint64_t>(median_ms * 100), median_ms);
    client::Point& point = m.points.emplace_back();
    point.concurrency = callers;
    point.rows_per_s = point.requests_per_s = callers * run.throughput_per_s;
    point.samples = run.samples;
    point.latency_ms = run.latency_ms;
    point.ci95_percent = run.ci95_percent;
    point.histogram = run.histogram;
  }
  About about;
  about.command = {"bench server", "ridge bench http://localhost:8000/v2/models/m", "2026-11-23T12:00:00Z"};
  about.machine = {"CPU", 2, "here"};
  return document(about, json_of(m));
}

TEST(Compare, AServerIsComparedLoadByLoad) {
  const Json before = kept_server({{1, 5}, {4, 9}, {8, 20}}), now = kept_server({{1, 5}, {4, 10}, {16, 30}}, "json");
  const Result<Comparison> comparison = compare(before, now, 0);
  ASSERT_TRUE(comparison) << comparison.error().message;
  EXPECT_EQ(verdict_of(*comparison, "callers-1.p50"), tune::Change::kAsBefore);
  EXPECT_EQ(verdict_of(*comparison, "callers-4.throughput"), tune::Change::kRegressed);
  EXPECT_EQ(verdict_of(*comparison, "callers-4.p50"), tune::Change::kRegressed);
  EXPECT_TRUE(comparison->slower);
  EXPECT_EQ(comparison->figures.size(), 10) << "two loads in common, of five figures each";
  EXPECT_EQ(caveats_of(*comparison), (std::vector<std::string>{"other-request", "other-load", "other-load"}));
  const Result<Comparison> same = compare(before, before, 0);
  EXPECT_FALSE(same->slower);
  EXPECT_TRUE(same->caveats.empty());
  EXPECT_FALSE(compare(before, kept_server({{2, 5}}), 0)) << "no load in common";
}

TEST(Compare, AServerOfALanguageModelShowsItsTokenFigures) {
  const auto kept_llm = [](double output_per_s, double ttft_ms) {
    Json document = kept_server({{1, 5}});
    client::TokenFigures tokens;
    tokens.requests = 10;
    tokens.output_per_s = output_per_s;
    tokens.ttft_ms.emplace().p50 = ttft_ms;
    document["points"][0]["tokens"] = json_of(tokens);
    return document;
  };
  const Result<Comparison> comparison = compare(kept_llm(100, 20), kept_llm(150, 10), 0);
  ASSERT_TRUE(comparison) << comparison.error().message;
  EXPECT_EQ(verdict_of(*comparison, "callers-1.ttft-p50"), tune::Change::kNotComparable) << "there is no interval";
  const auto output = std::ranges::find(comparison->figures, "callers-1.output-tokens", &tune::FigureChange::id);
  ASSERT_NE(output, comparison->figures.end());
  EXPECT_NEAR(output->change_percent, 50, 1e-9);
  EXPECT_EQ(output->what, "tokens/s at 1 caller");
  EXPECT_TRUE(std::ranges::none_of(comparison->figures, [](const tune::FigureChange& row) {
    return row.id.ends_with("goodput");
  })) << "neither had a goal";
}

Json kept_device(double fp32_per_s, double dram_per_s, const std::string& device = "CPU") {
  About about;
  about.command = {"bench device", "ridge bench device", "2026-11-23T12:00:00Z"};
  about.machine = {"CPU", 2, "here"};
  const Json members = {
      {"device", device},
      {"peaks",
       {{{"precision", "fp32"}, {"threads", 2}, {"flops_per_s", fp32_per_s}, {"spread_percent", 2.0}},
        {{"precision", "int8"}, {"threads", 2}, {"flops_per_s", nullptr}}}},
      {"bandwidth", {{{"level", "DRAM"}, {"threads", 2}, {"bytes_per_s", dram_per_s}, {"spread_percent", 20.0}}}}};
  return document(about, members);
}

TEST(Compare, ADeviceIsComparedRowByRowByTheSpreads) {
  const Result<Comparison> comparison = compare(kept_device(100e9, 20e9), kept_device(90e9, 18e9, "another CPU"), 0);
  ASSERT_TRUE(comparison) << comparison.error().message;
  EXPECT_EQ(verdict_of(*comparison, "peaks.fp32, 2 threads"), tune::Change::kRegressed);
  EXPECT_EQ(verdict_of(*comparison, "peaks.int8, 2 threads"), tune::Change::kNotComparable);
  EXPECT_EQ(verdict_of(*comparison, "bandwidth.DRAM, 2 threads"), tune::Change::kAsBefore) << "within ± 20 %";
  EXPECT_EQ(caveats_of(*comparison), std::vector<std::string>{"other-device"});
  EXPECT_TRUE(comparison->slower);
  EXPECT_FALSE(compare(kept_device(100e9, 20e9), kept_device(90e9, 18e9), 15)->slower);
}

TEST(Compare, LayersAreMatchedByNameAndTheLargestChangeIsFirst) {
  measure::Measurement before = measured(1, 5), now = measured(2, 5);
  const auto layer = [](const char* name, double ms) { return measure::Layer{.name = name, .op = "Conv", .ms = ms}; };
  before.layers = {layer("a", 2), layer("b", 1), layer("gone", 0.5)};
  now.layers = {layer("b", 3), layer("a", 2.1), layer("added", 1)};
  const Result<Comparison> comparison = compare(kept(before), kept(now), 0);
  ASSERT_TRUE(comparison);
  ASSERT_EQ(comparison->layers.size(), 4u);
  EXPECT_EQ(comparison->layers[0].name, "b");
  EXPECT_EQ(comparison->layers[0].before_ms, 1);
  EXPECT_EQ(comparison->layers[1].name, "added");
  EXPECT_EQ(comparison->layers[1].before_ms, 0);
  EXPECT_EQ(comparison->layers[2].name, "gone");
  EXPECT_EQ(comparison->layers[3].name, "a");
}

TEST(Compare, OfDifferentVerbsIsWrongUsage) {
  const Result<Comparison> none = compare(kept(measured(1, 5)), kept(measured(1, 5), "doctor"), 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalid);
}

TEST(Kept, ADocumentOfAnotherSchemaOrOfNoVerbIsRefused) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  const std::string file = folder->path() + "/kept.json";
  Json json = kept(measured(1, 5));
  ASSERT_TRUE(write_file_atomically(file, dump_json(json)));
  EXPECT_TRUE(read_document(file));
  json["about"]["schema"] = 2;
  ASSERT_TRUE(write_file_atomically(file, dump_json(json)));
  EXPECT_NE(read_document(file).error().message.find("schema 2"), std::string::npos);
  ASSERT_TRUE(write_file_atomically(file, "{}"));
  EXPECT_EQ(read_document(file).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::app
