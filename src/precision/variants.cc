#include "precision/variants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/digest.h"
#include "engine/engine.h"
#include "engine/engines.h"
#include "engine/run_limit.h"
#include "precision/convert.h"
#include "precision/model_writer.h"
#include "precision/ranges.h"
#include "precision/variant_files.h"

namespace ridge::precision {
namespace {

Result<PassReport> write_16_bits(const VariantKind& kind, const model::WholeModel& model,
                                 const QuantiseOptions& options, const std::string& file) {
  ConvertOptions convert_options;
  convert_options.keep_nodes = options.keep_nodes;
  return convert(model, kind.precision, convert_options, file);
}

Result<PassReport> write_dynamic(const VariantKind&, const model::WholeModel& model, const QuantiseOptions& options,
                                 const std::string& file) {
  return quantise_dynamic(model, options, file);
}

Result<PassReport> write_weights(const VariantKind& kind, const model::WholeModel& model,
                                 const QuantiseOptions& options, const std::string& file) {
  return quantise_weights(model, kind.weight_bits, kind.weight_block, options, file);
}

constexpr VariantKind kVariants[] = {
    {"fp32", Precision::kFp32, 32, 32},
    {"fp16", Precision::kFp16, 16, 16, false, write_16_bits},
    {"bf16", Precision::kBf16, 16, 16, false, write_16_bits},
    {.name = "int8", .precision = Precision::kInt8, .arithmetic_bits = 8, .weight_bits = 8, .needs_ranges = true},
    {"int8-dynamic", Precision::kInt8, 8, 8, true, write_dynamic},
    // Blocks of 32 as in ggml's Q4_0 and the smallest in wide use, so the most accurate.
    {"int8-weights", Precision::kFp32, 32, 8, true, write_weights, 32},
    {"int4-weights", Precision::kFp32, 32, 4, true, write_weights, 32},
};

constexpr double kCalibrationShare = 0.4;  // of the time; the rest is for finding layers to keep

using KeptNodes = std::set<std::string>;
// Writes the variant in which these nodes stay in FP32.
using Write = std::function<Result<PassReport>(const KeptNodes& kept, const std::string& file)>;

// A file removed with this object.
struct AttemptFile {
  std::string path;
  ~AttemptFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(path + ".data", ignored);
  }
};

// One variant in progress.
struct VariantBuild {
  const VariantBasis& basis;
  const VariantOptions& options;
  const VariantFiles& files;
  Variant& variant;
  TimePoint begin = options.clock->now();

  double left() const { return std::max(0.0, options.seconds - to_seconds(options.clock->now() - begin)); }
  void say(const std::string& step, double share) const {
    if (options.progress) options.progress(variant.name + ": " + step, share);
  }
};

plan::Plan plan_with(const VariantBasis& basis, const std::string& file, Precision precision) {
  plan::Plan plan = basis.plan;
  plan.model = file;
  plan.precision = precision;
  return plan;
}

Result<AccuracyVerdict> judge_file(const VariantBuild& build, const std::string& file, size_t samples) {
  RIDGE_ASSIGN(const std::unique_ptr<engine::Session> session,
               engine::open_for(build.options.seconds, plan_with(build.basis, file, build.variant.precision)));
  const std::span<const Sample> held_out(build.basis.samples.held_out);
  return judge(build.basis.reference, *session, held_out.first(std::min(samples, held_out.size())),
               build.options.limits, build.options.interrupted);
}

// The verdict on a file and its requirements: variant.holds and its basis.
Status decide(const VariantBuild& build, const std::string& file) {
  Variant& variant = build.variant;
  RIDGE_ASSIGN(variant.verdict, judge_file(build, file, build.basis.samples.held_out.size()));
  variant.holds = variant.verdict.holds;
  variant.evaluation.reset();
  if (!build.options.evaluation) return {};
  RIDGE_ASSIGN(const double score,
               evaluate(*build.options.evaluation, plan_with(build.basis, file, variant.precision), variant.name));
  variant.evaluation = judge_score(build.options.evaluation_reference, score, *build.options.evaluation);
  variant.holds = variant.evaluation->holds;
  return {};
}

// Writes the model with `kept` to its path and judges it.
Status settle(const VariantBuild& build, const Write& write, const KeptNodes& kept) {
  RIDGE_ASSIGN(build.variant.report, write(kept, build.files.model));
  build.variant.model = build.files.model;
  return decide(build, build.files.model);
}

// ------------------------------------------------------------------------------------------- layers to keep in FP32

SensitivityOptions how_long(const VariantBuild& build, double seconds) {
  SensitivityOptions how;
  how.seconds = seconds;
  how.interrupted = build.options.interrupted;
  how.progress = [&build](double share) { build.say("sensitivity of layers", share); };
  how.clock = build.options.clock;
  return how;
}

Attempt attempt_with(const VariantBuild& build, const Write& write, size_t samples) {
  return [&build, &write, samples](const KeptNodes& kept) -> Result<AccuracyVerdict> {
    const AttemptFile file{build.files.attempts + "attempt.onnx"};
    RIDGE_TRY(write(kept, file.path));
    return judge_file(build, file.path, samples);
  };
}

// Like attempt_with(), with the deciding criterion.
Attempt final_attempt(const VariantBuild& build, const Write& write) {
  return [&build, &write](const KeptNodes& kept) -> Result<AccuracyVerdict> {
    const AttemptFile file{build.files.attempts + "attempt.onnx"};
    RIDGE_TRY(write(kept, file.path));
    RIDGE_TRY(decide(build, file.path));
    AccuracyVerdict verdict = build.variant.verdict;
    verdict.holds = build.variant.holds;
    return verdict;
  };
}

// If accuracy was lost: the table, and the layers to keep.
Status look_into_layers(const VariantBuild& build, const Write& write) {
  Variant& variant = build.variant;
  if (variant.holds) return {};
  RIDGE_ASSIGN(const std::vector<std::string> nodes, quantisable_nodes(build.basis.model, build.options.quantise));
  RIDGE_ASSIGN(variant.sensitivity, measure_sensitivity(nodes, attempt_with(build, write, build.options.few),
                                                        how_long(build, build.left() / 2)));
  build.say("layers to keep in FP32", 0);
  RIDGE_ASSIGN(const KeepList list,
               find_keep_list(variant.sensitivity, final_attempt(build, write), how_long(build, build.left())));
  if (!list.verdict.holds) {
    variant.notes.push_back(
        fmt::format("Accuracy does not hold with any tried list of layers kept in FP32 ({} tried).", list.attempts));
    return settle(build, write, {});
  }
  variant.kept.assign(list.kept.begin(), list.kept.end());
  for (LayerSensitivity& row : variant.sensitivity) row.kept = list.kept.contains(row.node);
  variant.notes.push_back(
      fmt::format("{} of {} layers stay in FP32 to keep accuracy.", list.kept.size(), nodes.size()));
  return settle(build, write, list.kept);
}

// ------------------------------------------------------------------------------------------------------ static INT8

Result<Activations> calibrate(const VariantBuild& build) {
  const VariantBasis& basis = build.basis;
  RIDGE_ASSIGN(const std::vector<std::string> tensors, calibration_tensors(basis.model, build.options.quantise));
  ObserveOptions how;
  how.seconds = kCalibrationShare * build.options.seconds;
  how.folder = build.options.folder;
  how.interrupted = build.options.interrupted;
  how.progress = [&build](double share) { build.say("calibration", share); };
  how.clock = build.options.clock;
  plan::Plan plan = basis.plan;
  // The ranges are the model's, independent of the engine.
  plan.engine = engine::first_that(&engine::Engine::gives_any_tensor).name;
  plan.device = "cpu";
  if (basis.plan.engine != plan.engine) plan.engine_library.clear();
  if (basis.plan.engine != plan.engine || basis.plan.device != plan.device) plan.options.clear();
  return observe(basis.model, plan, basis.inputs, tensors, basis.samples.calibration, how);
}

Write static_writer(const VariantBuild& build, TensorRanges ranges) {
  return [&build, ranges = std::move(ranges)](const KeptNodes& kept, const std::string& file) {
    QuantiseOptions options = build.options.quantise;
    options.keep_nodes.insert(kept.begin(), kept.end());
    return quantise_static(build.basis.model, ranges, options, file);
  };
}

// Each method's ranges until the guard holds, else the best ones.
Status make_static(const VariantBuild& build) {
  Variant& variant = build.variant;
  RIDGE_ASSIGN(const Activations activations, calibrate(build));
  variant.notes = activations.notes;
  const std::array<RangeOptions, 4> methods = {{{RangeMethod::kMinMax, 0},
                                                {RangeMethod::kPercentile, 99.999},
                                                {RangeMethod::kPercentile, 99.99},
                                                {RangeMethod::kEntropy, 0}}};
  std::vector<std::pair<double, size_t>> lost;  // relative L2 and method
  for (size_t i = 0; i < methods.size() && !variant.holds; ++i) {
    build.say("ranges by " + describe(methods[i]), static_cast<double>(i) / methods.size());
    RIDGE_TRY(settle(build, static_writer(build, ranges_of(activations, methods[i])), {}));
    lost.emplace_back(variant.holds ? -1 : variant.verdict.worst.relative_l2, i);
  }
  const RangeOptions& best = methods[std::min_element(lost.begin(), lost.end())->second];
  const Write write = static_writer(build, ranges_of(activations, best));
  variant.calibration =
      fmt::format("{} over {} samples ({})", describe(best), activations.samples, build.basis.samples.origin);
  if (!variant.holds) RIDGE_TRY(settle(build, write, {}));
  return look_into_layers(build, write);
}

// ------------------------------------------------------------------------------------------------------- the others

Write direct_writer(const VariantBuild& build, const VariantKind& kind) {
  return [&build, &kind](const KeptNodes& kept, const std::string& file) {
    QuantiseOptions options = build.options.quantise;
    options.keep_nodes.insert(kept.begin(), kept.end());
    return kind.write(kind, build.basis.model, options, file);
  };
}

Status make(const VariantBuild& build, const VariantKind& kind) {
  if (kind.needs_ranges) return make_static(build);
  const Write write = direct_writer(build, kind);
  RIDGE_TRY(settle(build, write, {}));
  return look_into_layers(build, write);
}

}  // namespace

std::span<const VariantKind> variant_kinds() { return kVariants; }

Result<const VariantKind*> variant_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const VariantKind& kind : kVariants) {
    if (kind.name == name) return &kind;
    names.push_back(kind.name);
  }
  return Error{Code::kInvalid,
               fmt::format("there is no variant '{}'; the variants are {}", name, fmt::join(names, ", "))};
}

QuantiseOptions quantise_options(const std::vector<std::string>& isa, const plan::Device& device) {
  const auto has = [&](const char* name) { return std::find(isa.begin(), isa.end(), name) != isa.end(); };
  QuantiseOptions options;
  options.symmetric_activations = device.kind != plan::DeviceKind::kCpu;
  if (options.symmetric_activations) return options;
  options.reduce_range = has("sse2") && !has("avx512_vnni") && !has("avx_vnni") && !has("amx_int8");
  return options;
}

Result<Variant> make_variant(const VariantBasis& basis, const std::string& name, const VariantOptions& options) {
  Variant variant;
  variant.name = name;
  RIDGE_ASSIGN(const VariantKind* kind, variant_kind(name));
  if (is_given(*kind)) return Error{Code::kInvalid, fmt::format("variant '{}' is the model as given", name)};
  variant.precision = kind->precision;
  RIDGE_ASSIGN(const VariantFiles files, variant_files(basis, name, options));
  const VariantBuild build{basis, options, files, variant};
  variant.reused = recall(files, variant);
  Status done = variant.reused ? decide(build, files.model) : make(build, *kind);
  if (done && !variant.reused) done = remember(files, variant);
  if (!done) return wrap(done.error(), "variant " + name);
  std::ranges::move(std::exchange(variant.report.notes, {}), std::back_inserter(variant.notes));
  std::vector<std::string> written = {variant.model};
  if (const std::string data = data_file_of(variant.model); !data.empty()) written.push_back(data);
  RIDGE_ASSIGN(variant.digest, digest_files(written));
  return variant;
}

}  // namespace ridge::precision
