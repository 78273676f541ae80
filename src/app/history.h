// Records measurements of models on this machine: one line of JSON per result of `bench` and model of `tune`, the
// newest last, in `history/MACHINE.jsonl` of the cache folder. Bounded: when a file is larger than kMostHistoryBytes,
// its older half goes. Two processes that write at the moment of that may lose a line.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/about.h"
#include "base/figure.h"
#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "measure/measurement.h"

namespace ridge::app {

constexpr size_t kMostHistoryBytes = 1 << 20;  // some 1500 results

struct PastResult {
  About about;
  std::string model, model_digest;
  std::map<std::string, Shape> shapes;
  std::string engine, engine_version, device;
  Precision precision = Precision::kFp32;
  int64_t batch = 1;
  int instances = 1, threads = 0;
  double throughput_per_s = 0;
  double p50_ms = 0, p99_ms = 0;
  double ci95_percent = 0;
  double percent_of_limit = 0;       // 0: not known
  std::optional<double> rate_per_s;  // of an open loop
  std::string url;                   // of a served model: `engine` is its server; empty: none
  int callers = 0;                   // of it: requests in flight at most; 0: none
  std::vector<std::string> beside;   // the models that ran at the same time (tune --share)
  bool disturbed = false;
};
void visit_fields(auto& visit, Is<PastResult> auto& past) {
  visit("about", past.about, Figure().groups_columns());
  visit("model", past.model, Figure().column("model"));
  visit.unless_empty("model_digest", past.model_digest);
  visit.unless_empty("shapes", past.shapes);
  visit("engine", past.engine);
  visit.optional("engine_version", past.engine_version);
  visit.optional("device", past.device);
  visit.optional("precision", past.precision);
  visit.optional("batch", past.batch);
  visit.optional("instances", past.instances);
  visit.optional("threads", past.threads);
  visit("throughput_per_s", past.throughput_per_s, Figure().column("throughput").in("rows/s"));
  visit("p50_ms", past.p50_ms, Figure().column("p50"));
  visit("p99_ms", past.p99_ms, Figure().column("p99"));
  visit.optional("ci95_percent", past.ci95_percent);
  visit.optional("percent_of_limit", past.percent_of_limit, Figure().column("share of the limit"));
  visit.unless_empty("rate_per_s", past.rate_per_s);
  visit.unless_empty("url", past.url);
  visit.unless_empty("callers", past.callers);
  visit.unless_empty("beside", past.beside);
  visit.optional("disturbed", past.disturbed, Figure().column("disturbed"));
}

// Reads a document of `bench`, or the best of each model in one of `tune`. For a server it takes the load that the verb
// names: the highest rate within the goal, else the fewest callers near the highest throughput, else the last one.
// Empty: no request was answered. Error: a document of another verb.
Result<std::vector<PastResult>> past_results_of(const Json& document);

// Empty without a cache folder, or if RIDGE_HISTORY is "off".
std::string history_file(const std::string& machine_id);
// Adds one; does nothing for an empty file name.
Status remember(const PastResult& past, const std::string& file);
// Reads a file's results, oldest first; none if it is missing. Other lines are skipped.
std::vector<PastResult> recall_history(const std::string& file);

// True if the result belongs to the model: both have the same digest or, if one has none, the same path, or the same
// file name (a served model's without its ending).
bool is_of(const PastResult& past, const std::string& model, const std::string& digest);

}  // namespace ridge::app
