#include "app/tune_admission.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/engines.h"
#include "precision/samples.h"
#include "tune/store.h"

namespace ridge::app {
namespace {

// The base plan's engine, and on request every other one that loads here.
std::vector<std::string> engines_of(const AdmissionSubject& subject, std::vector<tune::Rejection>& rejections) {
  std::vector<std::string> engines = {subject.plan.engine};
  if (!subject.request.other_engines || !subject.target.on_cpu()) return engines;
  for (const engine::Engine& row : engine::known()) {
    if (row.for_tests || row.name == subject.plan.engine || !engine::runs_on(row, subject.target.device.kind)) continue;
    plan::Plan other;
    other.engine = row.name;
    if (const Result<engine::Info> found = engine::find_engine(other); found)
      engines.push_back(other.engine);
    else
      rejections.push_back({"not-loaded", found.error().message, {other.engine, "fp32"}});
  }
  return engines;
}

tune::VariantRequests wishes_of(const TuneRequest& request) {
  if (request.recorded) return {{{request.recorded->candidate.variant}}};
  return {request.variants};
}

// For a recorded candidate only its own engine and precision are judged, beside the untuned model's.
void keep_recorded(const TuneRequest& request, std::vector<tune::VariantRequest>& requests) {
  if (!request.recorded) return;
  const tune::Candidate& candidate = request.recorded->candidate;
  const tune::VariantRequest own{std::string(tune::engine_of(candidate, requests.front().engine)), candidate.variant};
  requests.erase(std::remove_if(requests.begin() + 1, requests.end(), [&](const auto& other) { return other != own; }),
                 requests.end());
}

// Until when variants are made and judged. Where nothing is searched its time is theirs.
tune::Part last_part(const TuneRequest& request) {
  return request.recorded ? tune::Part::kSearch : tune::Part::kVariants;
}

precision::VariantOptions variant_options(const AdmissionSubject& subject, const RunControl& control) {
  const TuneRequest& request = subject.request;
  precision::VariantOptions options;
  options.limits = request.guard;
  options.limits.vectors = precision::vector_outputs(subject.graph);
  options.quantise = precision::quantise_options(subject.machine.cpu.isa, subject.target.device);
  options.seconds = request.guard_seconds.value_or(subject.budget.left(last_part(request)));
  const std::string store = request.store.empty() ? tune::default_store_path() : request.store;
  if (!store.empty()) options.folder = (std::filesystem::path(store).parent_path() / "variants").string();
  options.interrupted = [&control, &budget = subject.budget, part = last_part(request)] {
    return control.stopped() || budget.over(part);
  };
  options.progress = [&control](const std::string& step, double share) { control.report(step, share); };
  options.clock = control.clock;
  return options;
}

// The evaluation command's result for the FP32 model is the reference.
Status add_evaluation(const AdmissionSubject& subject, precision::VariantOptions& options) {
  options.evaluation = subject.request.evaluation;
  if (!options.evaluation) return {};
  options.evaluation->interrupted = options.interrupted;
  options.progress("--eval of the FP32 model", 0);
  RIDGE_ASSIGN(options.evaluation_reference, precision::evaluate(*options.evaluation, subject.plan, "fp32"));
  return {};
}

}  // namespace

Result<std::optional<precision::Samples>> read_samples(const TuneRequest& request, const engine::Signature& signature,
                                                       const plan::Plan& plan, const model::Graph& graph) {
  if (request.samples.path.empty()) return std::optional<precision::Samples>();
  RIDGE_ASSIGN(precision::Samples samples, precision::gather_samples(signature, plan.shapes, &graph, request.samples));
  return std::optional(std::move(samples));
}

Result<tune::VariantSelection> admit(AdmissionSubject subject, const RunControl& control) {
  std::vector<tune::Rejection> absent;
  const std::vector<std::string> engines = engines_of(subject, absent);
  RIDGE_ASSIGN(tune::Choices choices,
               tune::choices(subject.machine, subject.costs, engines, wishes_of(subject.request), subject.target));
  keep_recorded(subject.request, choices.requests);
  choices.rejections.insert(choices.rejections.begin(), absent.begin(), absent.end());
  precision::Samples samples;
  if (subject.samples) {
    samples = std::move(*subject.samples);
  } else if (choices.requests.size() > 1) {
    RIDGE_ASSIGN(samples, precision::gather_samples(subject.signature, subject.plan.shapes, &subject.graph,
                                                    subject.request.samples));
  }
  precision::VariantOptions options = variant_options(subject, control);
  RIDGE_TRY(add_evaluation(subject, options));
  RIDGE_ASSIGN(tune::VariantSelection admission,
               tune::admit({subject.model, subject.plan, subject.signature, samples}, choices.requests, options));
  for (tune::Rejection& rejection : admission.rejections)
    if (rejection.id == tune::kUnfinished)
      rejection.reason =
          control.stopped() ? "interrupted before it was judged" : "--seconds: its time ended before it was judged";
  admission.rejections.insert(admission.rejections.begin(), choices.rejections.begin(), choices.rejections.end());
  return admission;
}

}  // namespace ridge::app
