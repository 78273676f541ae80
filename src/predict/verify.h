// Verifies a prediction: the model runs interleaved with a few calibration models, which show whether the machine has changed
// since the calibration. Prediction and measurement are recorded in a ledger, one line of JSON per comparison; later estimates
// take their error from it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "predict/efficiency.h"

namespace ridge::predict {

struct Verification {
  std::string machine, engine_version, model;
  std::string at;  // UTC
  int64_t batch = 1;
  int threads = 1;
  double predicted_ms = 0;
  double measured_ms = 0;     // mean of the middle half of the runs
  double spread_percent = 0;  // half of the middle half, over that mean
  int runs = 0;
  double machine_change = 1;  // calibration models now over then: 1.05 = the machine is 5 % slower than at calibration
};
void visit_fields(auto& visit, Is<Verification> auto& v) {
  visit("at", v.at);
  visit("machine", v.machine);
  visit("engine_version", v.engine_version);
  visit("model", v.model);
  visit("batch", v.batch);
  visit("threads", v.threads);
  visit("predicted_ms", v.predicted_ms, above(0));
  visit("measured_ms", v.measured_ms, above(0));
  visit.optional("spread_percent", v.spread_percent);
  visit.optional("runs", v.runs);
  visit.optional("drift", v.machine_change);
}

struct VerifyOptions {
  Nanoseconds max_time = std::chrono::seconds(10);
  std::function<bool()> interrupted;  // may be empty
  Clock* clock = &system_clock();
};

// `plan` with the model's path and the shapes of its inputs, and threads that `efficiency` was measured with or near them.
Result<Verification> verify(const plan::Plan& plan, const model::Graph& graph, const Efficiency& efficiency,
                            double predicted_ms, const VerifyOptions& options);

Json to_json(const Verification& verification);

// <folder>/<machine>.ledger.jsonl
std::string ledger_file(const std::string& folder, const std::string& machine_id);
Status append_to_ledger(const std::string& file, const Verification& verification);
// Skips unreadable lines; no file is an empty ledger.
std::vector<Verification> read_ledger(const std::string& file);

// The relative error that two of three of the ledger's predictions stayed within, using the newest for each model, batch and
// threads; absent for fewer than kLeastLedger of them. Comparisons on a changed machine (beyond kMostChange: other load)
// do not count.
constexpr double kMostChange = 0.15;
constexpr size_t kLeastLedger = 5;
std::optional<double> ledger_error(const std::vector<Verification>& ledger, const std::string& engine_version);

}  // namespace ridge::predict
