// Compares a prediction with the real thing: the model runs, in turn with a few models of the calibration, so that it shows
// whether the machine is still as it was when it was calibrated. What was predicted and measured goes into a ledger, one
// line of JSON per comparison, and the error that is shown with later estimates comes from there.
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
  double drift = 1;  // calibration models now over then: 1.05 = the machine is 5 % slower than when it was calibrated
};

struct VerifyOptions {
  Nanoseconds max_time = std::chrono::seconds(10);
  std::function<bool()> interrupted;  // may be empty
  Clock* clock = &system_clock();
};

// `plan` with the model's path and the shapes of its inputs, and threads that `efficiency` was measured with or near them.
Result<Verification> verify(const plan::Plan& plan, const model::Graph& graph, const Efficiency& efficiency,
                            double predicted_ms, const VerifyOptions& options);

Json to_json(const Verification& verification);
Result<Verification> verification_from_json(const Json& json);

// <folder>/<machine>.ledger.jsonl
std::string ledger_file(const std::string& folder, const std::string& machine_id);
Status append_to_ledger(const std::string& file, const Verification& verification);
// Lines that cannot be read are passed over; no file is an empty ledger.
std::vector<Verification> read_ledger(const std::string& file);

// The relative error that two of three of the ledger's predictions stayed within, of each model, batch and threads the newest;
// absent for fewer than kLeastLedger of them. Comparisons made while the machine was not what it had been (drift beyond
// kMostDrift: something else was running) say nothing of the predictions and do not count.
constexpr double kMostDrift = 0.15;
constexpr size_t kLeastLedger = 5;
std::optional<double> ledger_error(const std::vector<Verification>& ledger, const std::string& engine_version);

}  // namespace ridge::predict
