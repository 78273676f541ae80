#include "tune/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "engine/engines.h"
#include "engine/run_limit.h"
#include "tune/candidate.h"

namespace ridge::tune {
namespace {

// Passes over matrix multiplications pay where these dominate the work.
constexpr double kMostlyProducts = 0.5;
// Share of the time for running the FP32 model and each implementation on the held-out samples, all together; the rest
// is for writing and opening the implementations.
constexpr double kJudgingShare = 0.5;

constexpr const char* kNotMade = "not-made";
constexpr const char* kAccuracyLost = "accuracy-lost";
constexpr const char* kNotJudged = "not-judged";

bool contains(const std::optional<std::vector<std::string>>& wanted, std::string_view name) {
  return wanted && std::find(wanted->begin(), wanted->end(), name) != wanted->end();
}

// The share of multiply-adds in matrix multiplications.
double product_share(const cost::Costs& costs) {
  double products = 0;
  for (const cost::NodeCost& node : costs.nodes)
    if (node.kernel == cost::KernelFamily::kMatMul) products += node.macs;
  return costs.macs > 0 ? products / costs.macs : 0;
}

// Why arithmetic at `precision` cannot be faster here than FP32; none: it may be, or nothing is known.
std::optional<Rejection> slower(const machine::Machine& machine, Precision precision) {
  const int threads = machine::usable_threads(machine);
  const std::optional<machine::Peak> own = machine::peak(machine, precision, threads);
  const std::optional<machine::Peak> fp32 = machine::peak(machine, Precision::kFp32, threads);
  if (!own && precision != Precision::kInt8)
    return Rejection{"no-units", fmt::format("this CPU has no units for {}", precision_name(precision))};
  if (own && fp32 && own->flops_per_s <= fp32->flops_per_s)
    return Rejection{"peak-not-higher",
                     fmt::format("its measured peak here, {}, is not above FP32's, {}",
                                 format_flops_rate(own->flops_per_s), format_flops_rate(fp32->flops_per_s))};
  return std::nullopt;
}

// The same on a GPU: tries what its datasheet leaves open.
std::optional<Rejection> slower_on(const cost::DeviceLimits& limits, Precision precision) {
  const double own = cost::rate_of(limits, precision).flops_per_s;
  const double fp32 = cost::rate_of(limits, Precision::kFp32).flops_per_s;
  if (own <= 0 || own > fp32) return std::nullopt;
  return Rejection{"peak-not-higher", fmt::format("its peak on {}, {}, is not above FP32's, {}", limits.device,
                                                  format_flops_rate(own), format_flops_rate(fp32))};
}

// Why the variant cannot pay for this model on this machine; none: it may.
std::optional<Rejection> cannot_pay(const machine::Machine& machine, const cost::Costs& costs,
                                    const precision::VariantKind& variant, const Target& target) {
  const Precision precision = variant.precision;
  if (!target.on_cpu())
    return target.limits && precision != Precision::kFp32 ? slower_on(*target.limits, precision) : std::nullopt;
  if (precision::weight_scale(variant) < 1) {
    Result<cost::DeviceLimits> limits = cost::limits_of(machine, machine::usable_threads(machine));
    if (limits && cost::bound(costs, *limits).limiter != cost::Limiter::kMemory)
      return Rejection{"compute-limits", "smaller weights help memory-bound models; this one is compute-bound"};
  } else if (precision != Precision::kFp32) {
    if (std::optional<Rejection> rejection = slower(machine, precision)) return rejection;
  }
  if (variant.matrices_only && product_share(costs) < kMostlyProducts)
    return Rejection{"few-matrices",
                     fmt::format("it affects matrix multiplications, only {:.0f} % of this model's work",
                                 100 * product_share(costs))};
  return std::nullopt;
}

Status check_names(const VariantRequests& requests) {
  if (!requests.variants) return {};
  for (const std::string& name : *requests.variants) RIDGE_TRY(precision::variant_kind(name));
  return {};
}

plan::Plan plan_for(const plan::Plan& base, const Implementation& implementation) {
  const std::array<Implementation, 1> one = {implementation};
  Candidate candidate;
  candidate.engine = implementation.engine;
  candidate.variant = implementation.variant;
  return to_plan(candidate, base, one);
}

// One admission in progress.
struct VariantSelector {
  const AdmissionBasis& basis;
  const precision::VariantOptions& options;
  precision::Answers reference;
  VariantSelection admission;
  std::map<std::string, std::string> not_made = {};  // variant → why; not tried again for another engine

  void reject(const VariantRequest& request, std::string id, std::string reason) {
    admission.rejections.push_back({std::move(id), std::move(reason), request});
  }

  // `digest`: of the implementation's own file; empty: it has none.
  Status judge_and_admit(const VariantRequest& request, Implementation implementation, const std::string& digest) {
    const plan::Plan plan = plan_for(basis.plan, implementation);
    Result<std::unique_ptr<engine::Session>> session = engine::open_for(options.seconds, plan);
    if (!session) return rejected(request, "not-opened", session.error());
    Result<precision::AccuracyVerdict> verdict =
        precision::judge(reference, **session, basis.samples.held_out, options.limits, options.interrupted);
    if (!verdict) return rejected(request, "not-run", verdict.error());
    bool holds = verdict->holds;
    std::string why = verdict->sentence;
    if (options.evaluation) {
      Result<double> score = precision::evaluate(*options.evaluation, plan, request.variant);
      if (!score) return rejected(request, "evaluation-failed", score.error());
      const precision::EvaluationVerdict own =
          precision::judge_score(options.evaluation_reference, *score, *options.evaluation);
      holds = own.holds;
      why = own.sentence;
    }
    if (!holds) {
      reject(request, kAccuracyLost, why);
      return {};
    }
    implementation.identity = (*session)->info().version + (digest.empty() ? "" : " " + digest);
    admission.admitted.push_back({std::move(implementation), std::move(*verdict)});
    return {};
  }

  // An interruption ends everything, another failure only this request.
  Status rejected(const VariantRequest& request, const char* id, const Error& error) {
    if (error.code == Code::kCancelled) return error;
    reject(request, id, error.message);
    return {};
  }

  // The variant's file, judged as `implementation` runs it; null if not written, or too inaccurate.
  Result<const precision::Variant*> made(const VariantRequest& request, const Implementation& implementation) {
    for (const precision::Variant& variant : admission.variants)
      if (variant.name == request.variant) return &variant;
    if (auto failed = not_made.find(request.variant); failed != not_made.end()) {
      reject(request, kNotMade, failed->second);
      return nullptr;
    }
    plan::Plan plan = basis.plan;
    for (const auto& [key, value] : implementation.options) plan.options[key] = value;
    const precision::VariantBasis own{basis.model, plan, basis.signature.inputs, basis.samples, reference};
    Result<precision::Variant> variant = precision::make_variant(own, request.variant, options);
    if (!variant) {
      RIDGE_TRY(rejected(request, kNotMade, variant.error()));
      not_made[request.variant] = variant.error().message;
      return nullptr;
    }
    admission.variants.push_back(std::move(*variant));
    return &admission.variants.back();
  }

  Status consider(const VariantRequest& request) {
    RIDGE_ASSIGN(const precision::VariantKind* kind, precision::variant_kind(request.variant));
    Implementation implementation{.engine = request.engine, .variant = request.variant, .precision = kind->precision};
    RIDGE_ASSIGN(const plan::Device device, plan::device_from_name(basis.plan.device));
    const engine::Ability* how = engine::ability_of(engine::named(request.engine), request.variant, device.kind);
    if (how != nullptr && !how->option.empty()) implementation.options[std::string(how->option)] = "1";
    if (how == nullptr || how->source == engine::Source::kGiven)
      return judge_and_admit(request, std::move(implementation), "");
    RIDGE_ASSIGN(const precision::Variant* variant, made(request, implementation));
    if (variant == nullptr) return {};
    if (!variant->holds) {
      reject(request, kAccuracyLost, variant->evaluation ? variant->evaluation->sentence : variant->verdict.sentence);
      return {};
    }
    implementation.file = variant->model;
    implementation.weight_scale = precision::weight_scale(*kind);
    return judge_and_admit(request, std::move(implementation), variant->digest);
  }
};

int effort_of(const VariantRequest& request) {
  const precision::VariantKind& kind = **precision::variant_kind(request.variant);
  return precision::is_given(kind) ? 0 : kind.needs_ranges ? 2 : 1;
}

// Reports a variant requested by name that no engine here supports on that device.
void add_impossible(const VariantRequests& requests, std::span<const std::string> engines, const Target& target,
                    Choices& result) {
  for (const std::string& variant : requests.variants.value_or(std::vector<std::string>()))
    if (variant != result.requests.front().variant &&
        std::none_of(engines.begin(), engines.end(), [&](const std::string& engine) {
          return engine::ability_of(engine::named(engine), variant, target.device.kind) != nullptr;
        }))
      result.rejections.push_back({"not-on-device",
                                   "no usable engine computes it on " + plan::device_name(target.device),
                                   {engines.front(), variant}});
}

}  // namespace

Result<Choices> choices(const machine::Machine& machine, const cost::Costs& costs, std::span<const std::string> engines,
                        const VariantRequests& requests, const Target& target) {
  RIDGE_TRY(check_names(requests));
  Choices result;
  result.requests.push_back({engines.front(), std::string(precision::variant_kinds().front().name)});
  for (const std::string& engine : engines)
    for (const auto& [variant, source, device, option] : engine::named(engine).abilities) {
      const VariantRequest request{engine, std::string(variant)};
      if (device != target.device.kind || request == result.requests.front()) continue;
      RIDGE_ASSIGN(const precision::VariantKind* kind, precision::variant_kind(variant));
      const bool named = contains(requests.variants, variant);
      if (requests.variants && !precision::is_given(*kind) && !named) continue;
      std::optional<Rejection> rejection = named ? std::nullopt : cannot_pay(machine, costs, *kind, target);
      if (!rejection) {
        result.requests.push_back(request);
        continue;
      }
      rejection->request = request;
      result.rejections.push_back(std::move(*rejection));
    }
  // Variants are judged by rising cost of their preparation, so that a short time ends before the dearest: an engine's
  // own conversion, then files written without ranges, then those whose ranges the samples determine.
  std::stable_sort(result.requests.begin() + 1, result.requests.end(),
                   [&](const VariantRequest& a, const VariantRequest& b) { return effort_of(a) < effort_of(b); });
  add_impossible(requests, engines, target, result);
  return result;
}

Result<VariantSelection> admit(const AdmissionBasis& basis, std::span<const VariantRequest> requests,
                               const precision::VariantOptions& options) {
  VariantSelection only_baseline;
  only_baseline.samples = precision::provenance(basis.samples, basis.samples.held_out.size());
  only_baseline.synthetic = basis.samples.synthetic;
  only_baseline.admitted.emplace_back();
  only_baseline.admitted.front().implementation.engine = basis.plan.engine;
  only_baseline.admitted.front().verdict.holds = true;
  if (requests.size() == 1) return only_baseline;
  RIDGE_ASSIGN(const std::unique_ptr<engine::Session> session, engine::open_for(options.seconds, basis.plan));
  Result<precision::Answers> reference =
      precision::answers_of(*session, basis.samples.held_out,
                            {.seconds = kJudgingShare * options.seconds / static_cast<double>(requests.size()),
                             .interrupted = options.interrupted,
                             .clock = options.clock});
  bool cancelled = !reference && reference.error().code == Code::kCancelled;
  if (!reference && !cancelled) return reference.error();
  const size_t judged = reference ? reference->per_sample.size() : 0;
  VariantSelector admitting{basis, options, reference ? std::move(*reference) : precision::Answers{},
                            std::move(only_baseline)};
  admitting.admission.samples = precision::provenance(basis.samples, judged);
  const bool void_guard = !options.evaluation && precision::say_nothing(admitting.reference);
  for (const VariantRequest& request : requests.subspan(1)) {
    if (void_guard && request.variant != requests.front().variant) {
      admitting.reject(
          request, kNotJudged,
          fmt::format("its accuracy cannot be judged: the FP32 model's outputs are NaN or the same for {} ({}); "
                      "give samples that differ",
                      judged == 1 ? "every element of one sample" : fmt::format("all {} samples", judged),
                      basis.samples.origin));
      continue;
    }
    if (!cancelled) {
      if (options.progress) options.progress(request.engine + " " + request.variant, 0);
      const Status considered = admitting.consider(request);
      if (!considered && considered.error().code != Code::kCancelled) return considered.error();
      cancelled = !considered;
    }
    if (cancelled) admitting.reject(request, kUnfinished, "not judged");
  }
  return std::move(admitting.admission);
}

const SelectedVariant* admitted_as(const Candidate& candidate, const VariantSelection& admission) {
  for (const SelectedVariant& admitted : admission.admitted)
    if (runs(candidate, admitted.implementation, admission.admitted.front().implementation.engine)) return &admitted;
  return nullptr;
}

}  // namespace ridge::tune
