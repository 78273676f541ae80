// VariantSelection: the implementations of a model that may enter the search: each engine that loads here with each
// variant that can pay on this machine, if the accuracy guard holds for it. Rejected ones keep their reason.
//
// A variant pays if the machine has a higher measured peak for its arithmetic than for FP32, or, where only the weights
// are smaller, if memory limits the model. Engines that compute a precision from the original model (OpenVINO: bf16,
// fp16) need no file of their own; INT8 is one QDQ file for all engines.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/figure.h"
#include "base/json.h"
#include "base/result.h"
#include "cost/costs.h"
#include "machine/machine.h"
#include "model/reader.h"
#include "precision/variants.h"
#include "tune/candidate.h"
#include "tune/implementation.h"
#include "tune/target.h"

namespace ridge::tune {

// The user's request; absent: all that can pay.
struct VariantRequests {
  std::optional<std::vector<std::string>> variants;  // "fp32", "int8", …; "fp32" is always among them
};

struct VariantRequest {
  std::string engine, variant;
  bool operator==(const VariantRequest&) const = default;
};

struct Rejection {
  std::string id;  // stable
  std::string reason;
  VariantRequest request = {};
};
void visit_fields(auto& visit, Is<Rejection> auto& rejection) {
  visit("id", rejection.id,
        means("`not-loaded` (the engine), `not-on-device`, `no-units`, `peak-not-higher`, `compute-limits`, "
              "`few-matrices` (matrix multiplications), `not-made`, `not-opened`, `not-run`, `evaluation-failed`, "
              "`accuracy-lost`, `unfinished` (interrupted, or its time was over)"));
  visit("engine", rejection.request.engine);
  visit("variant", rejection.request.variant);
  visit("reason", rejection.reason);
}

// The implementations to try, and the rejected ones; pure. `engines`: those that load, the base plan's first. An
// unknown variant is an error with the names; one requested by name is tried whatever the peaks, if an engine can
// compute it.
struct Choices {
  std::vector<VariantRequest> requests;
  std::vector<Rejection> rejections;
};
Result<Choices> choices(const machine::Machine& machine, const cost::Costs& costs, std::span<const std::string> engines,
                        const VariantRequests& requests, const Target& target = {});

inline constexpr const char* kUnfinished = "unfinished";

struct SelectedVariant {
  Implementation implementation;
  precision::AccuracyVerdict verdict;  // on the held-out samples; of the baseline: holds, no outputs
};
void visit_fields(auto& visit, Is<SelectedVariant> auto& selected) {
  visit_fields(visit, selected.implementation);
  visit("accuracy", selected.verdict);
}

struct VariantSelection {
  std::string samples;                       // "the deviation was measured on …"
  bool synthetic = false;                    // those samples were synthetic
  std::vector<SelectedVariant> admitted;     // the first is the baseline
  std::vector<precision::Variant> variants;  // with written files, including those that lost too much
  std::vector<Rejection> rejections;
};
void visit_fields(auto& visit, Is<VariantSelection> auto& selection) {
  visit("samples", selection.samples, means("what the deviation was measured on"));
  visit("synthetic", selection.synthetic);
  visit("implementations", selection.admitted, means("engines and precisions that were searched, with their verdicts"));
  visit("variants", selection.variants, means("with written files, also those that lost too much"));
  visit("refused", selection.rejections, means("that were not searched"));
}

struct AdmissionBasis {
  const model::WholeModel& model;
  const plan::Plan& plan;  // FP32, shapes at batch 1, the base engine
  const engine::Signature& signature;
  const precision::Samples& samples;
};

// Writes, opens and judges; the first request is the baseline. Errors: the FP32 model itself fails on a sample. An
// implementation that cannot be written, opened or run is a rejection; interrupted, so is all that is not judged yet
// (kUnfinished).
Result<VariantSelection> admit(const AdmissionBasis& basis, std::span<const VariantRequest> requests,
                               const precision::VariantOptions& options);

// The variant of the candidate's implementation; null if it was not admitted.
const SelectedVariant* admitted_as(const Candidate& candidate, const VariantSelection& admission);

}  // namespace ridge::tune
