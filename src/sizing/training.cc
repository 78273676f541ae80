#include "sizing/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/name_table.h"
#include "cost/costs.h"
#include "cost/operators.h"
#include "cost/residency.h"
#include "sizing/saved_activations.h"

namespace ridge::sizing {
namespace {

constexpr std::array<std::pair<Optimiser, std::string_view>, 4> kOptimisers = {{{Optimiser::kSgd, "sgd"},
                                                                                {Optimiser::kMomentum, "momentum"},
                                                                                {Optimiser::kAdam, "adam"},
                                                                                {Optimiser::kAdamw, "adamw"}}};
constexpr std::array<std::pair<TrainingPrecision, std::string_view>, 3> kPrecisions = {
    {{TrainingPrecision::kFp32, "fp32"}, {TrainingPrecision::kMixed, "mixed"}, {TrainingPrecision::kBf16, "bf16"}}};

// NF4: 4 bits, and per block of 64 weights an 8-bit constant with, per 256 of those, an FP32 one: 4.127 bits. Dettmers
// et al. 2023, section 3, "Double Quantization".
constexpr double kNf4Bytes = (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8;

double float_bytes(TrainingPrecision precision) { return precision == TrainingPrecision::kFp32 ? 4 : 2; }

// The matrix of a linear layer: a constant second operand of rank 2.
const Shape* linear_weight(const model::Graph& graph, const cost::Residency& residency, const model::Node& node) {
  const bool product = cost::operator_of(node.domain, node.op).kernel == cost::KernelFamily::kMatMul;
  if (!product || node.inputs.size() < 2 || node.inputs[1] < 0) return nullptr;
  size_t t = static_cast<size_t>(node.inputs[1]);
  const model::TensorInfo& info = graph.tensors[t];
  if (!residency.constant[t] || !info.shape || info.shape->size() != 2) return nullptr;
  return &*info.shape;
}

double rows_through(const model::Graph& graph, const model::Node& node) {
  if (node.outputs.empty() || node.outputs[0] < 0) return 0;
  const auto& shape = graph.tensors[static_cast<size_t>(node.outputs[0])].shape;
  if (!shape || shape->empty()) return 0;
  double rows = 1;
  for (size_t d = 0; d + 1 < shape->size(); ++d) rows *= static_cast<double>(std::max<int64_t>((*shape)[d], 0));
  return rows;
}

void add_linear_layers(const model::Graph& graph, TrainingProfile& result) {
  cost::Residency residency = cost::residency_of(graph);
  std::vector<bool> seen(graph.tensors.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const model::Node& node = graph.nodes[n];
    if (!residency.runs[n]) continue;
    ++result.nodes;
    const Shape* weight = linear_weight(graph, residency, node);
    if (weight == nullptr) continue;
    result.linear_rows += rows_through(graph, node);
    size_t matrix = static_cast<size_t>(node.inputs[1]);
    if (seen[matrix]) continue;
    seen[matrix] = true;
    result.linear_parameters += static_cast<double>((*weight)[0]) * static_cast<double>((*weight)[1]);
    result.linear_dimensions += static_cast<double>((*weight)[0] + (*weight)[1]);
  }
}

double largest_weight(const model::Graph& graph) {
  double largest = 0;
  for (const model::TensorInfo& tensor : graph.tensors)
    if (tensor.role == model::TensorRole::kWeight && tensor.shape)
      largest = std::max(largest, static_cast<double>(element_count(*tensor.shape).value_or(0)));
  return largest;
}

// A pipeline's first stage holds its share of the layers for as many micro-batches as there are stages (one forward,
// one backward schedule): all layers' worth once the pipeline is full.
double pipeline_share(const TrainingSetup& setup) {
  return static_cast<double>(std::min<int64_t>(setup.pipeline, setup.accumulate)) / setup.pipeline;
}

double frozen_bytes(const TrainingProfile& profile, const TrainingSetup& setup) {
  double bytes = float_bytes(setup.precision);
  if (!setup.qlora) return profile.parameters * bytes;
  double linear = std::min(profile.linear_parameters, profile.parameters);
  return linear * kNf4Bytes + (profile.parameters - linear) * bytes;
}

void add_states(const TrainingProfile& profile, const TrainingSetup& setup, TrainingMemory& memory) {
  double split = static_cast<double>(setup.tensor) * setup.pipeline;
  StateBytes full = state_bytes(setup.optimiser, setup.precision);
  StateBytes mine = share_by_zero(full, setup.zero_stage, replicas_of(setup));
  double trained = memory.trained_parameters / split;
  memory.parameters = trained * mine.parameter;
  if (setup.lora_rank > 0) {
    double frozen = frozen_bytes(profile, setup) / split;
    memory.parameters += setup.zero_stage == 3 ? frozen / static_cast<double>(replicas_of(setup)) : frozen;
  }
  memory.gradients = trained * mine.gradient;
  memory.optimiser = trained * mine.optimiser;
  if (!setup.offload) return;
  memory.host = memory.gradients + memory.optimiser;
  memory.gradients = memory.optimiser = 0;
}

void add_activations(const TrainingProfile& profile, const TrainingSetup& setup, TrainingMemory& memory) {
  double bytes = float_bytes(setup.precision);
  double working = profile.peak_bytes - profile.kept_bytes;
  double kept = setup.checkpoint ? profile.checkpointed_bytes - working : profile.kept_bytes;
  if (setup.lora_rank > 0) kept += static_cast<double>(setup.lora_rank) * profile.linear_rows * bytes;
  memory.activations = kept * pipeline_share(setup) / setup.tensor;
  memory.working = working / setup.tensor;
  if (setup.zero_stage == 3) memory.working += profile.largest_parameters * bytes / setup.tensor;
}

}  // namespace

NameTable<Optimiser> names_of(Optimiser) { return kOptimisers; }
std::string_view optimiser_name(Optimiser optimiser) { return name_of(kOptimisers, optimiser); }
Result<Optimiser> optimiser_from_name(const std::string& name) {
  return from_name<Optimiser>(kOptimisers, name, "optimiser");
}
NameTable<TrainingPrecision> names_of(TrainingPrecision) { return kPrecisions; }
std::string_view training_precision_name(TrainingPrecision precision) { return name_of(kPrecisions, precision); }
Result<TrainingPrecision> training_precision_from_name(const std::string& name) {
  return from_name<TrainingPrecision>(kPrecisions, name, "training precision");
}

Status check(const TrainingSetup& setup) {
  auto invalid = [](std::string message) { return Error{Code::kInvalid, std::move(message)}; };
  if (setup.accumulate < 1 || setup.devices < 1 || setup.tensor < 1 || setup.pipeline < 1)
    return invalid("accumulated batches, devices, tensor and pipeline parallelism are at least 1");
  if (setup.devices % (setup.tensor * setup.pipeline) != 0)
    return invalid(fmt::format("{} devices cannot be divided into tensor {} × pipeline {}; give a multiple of {}",
                               setup.devices, setup.tensor, setup.pipeline, setup.tensor * setup.pipeline));
  if (setup.zero_stage < 0 || setup.zero_stage > 3) return invalid("ZeRO has the stages 0 to 3");
  if (setup.lora_rank < 0) return invalid("the rank of LoRA is at least 1");
  if (setup.qlora && setup.lora_rank == 0) return invalid("QLoRA trains adapters; give their rank with --lora");
  return ok_status();
}

int64_t replicas_of(const TrainingSetup& setup) {
  return std::max<int64_t>(1, setup.devices / (static_cast<int64_t>(setup.tensor) * setup.pipeline));
}

TrainingProfile profile(const model::Graph& graph, double batch, const TrainingSetup& setup) {
  TrainingProfile result;
  result.batch = batch;
  cost::Costs costs = cost::count(graph);
  result.parameters = static_cast<double>(costs.parameters);
  result.forward_flops = costs.flops;
  result.largest_parameters = largest_weight(graph);
  add_linear_layers(graph, result);
  SavedActivations saved = saved_activations(graph, {float_bytes(setup.precision), setup.lora_rank > 0});
  result.kept_bytes = saved.kept_bytes;
  result.peak_bytes = saved.peak_bytes;
  result.checkpointed_bytes = saved.checkpointed_bytes;
  result.kept_by_operator = std::move(saved.by_operator);
  result.without_rule = std::move(saved.without_rule);
  return result;
}

TrainingProfile at_batch(const TrainingProfile& one, const TrainingProfile& two, double batch) {
  TrainingProfile result = one;
  double share = two.batch == one.batch ? 0 : (batch - one.batch) / (two.batch - one.batch);
  auto between = [&](double TrainingProfile::*member) {
    result.*member = std::max(0.0, one.*member + share * (two.*member - one.*member));
  };
  result.batch = batch;
  between(&TrainingProfile::linear_rows);
  between(&TrainingProfile::forward_flops);
  between(&TrainingProfile::kept_bytes);
  between(&TrainingProfile::peak_bytes);
  between(&TrainingProfile::checkpointed_bytes);
  for (size_t i = 0; i < result.kept_by_operator.size(); ++i)
    for (const auto& [op, bytes] : two.kept_by_operator)
      if (op == result.kept_by_operator[i].first)
        result.kept_by_operator[i].second += share * (bytes - one.kept_by_operator[i].second);
  return result;
}

StateBytes state_bytes(Optimiser optimiser, TrainingPrecision precision) {
  double moments = optimiser == Optimiser::kSgd ? 0 : optimiser == Optimiser::kMomentum ? 1 : 2;
  switch (precision) {
    case TrainingPrecision::kFp32: return {.parameter = 4, .gradient = 4, .optimiser = 4 * moments};
    case TrainingPrecision::kMixed: return {.parameter = 2, .gradient = 2, .optimiser = 4 + 4 * moments};
    case TrainingPrecision::kBf16: return {.parameter = 2, .gradient = 2, .optimiser = 2 * moments};
  }
  return {};
}

StateBytes share_by_zero(const StateBytes& bytes, int stage, int64_t replicas) {
  double n = static_cast<double>(replicas);
  return {.parameter = stage >= 3 ? bytes.parameter / n : bytes.parameter,
          .gradient = stage >= 2 ? bytes.gradient / n : bytes.gradient,
          .optimiser = stage >= 1 ? bytes.optimiser / n : bytes.optimiser};
}

TrainingMemory training_memory(const TrainingProfile& profile, const TrainingSetup& setup) {
  TrainingMemory memory;
  memory.trained_parameters =
      setup.lora_rank > 0 ? static_cast<double>(setup.lora_rank) * profile.linear_dimensions : profile.parameters;
  add_states(profile, setup, memory);
  add_activations(profile, setup, memory);
  return memory;
}

int64_t largest_fitting_batch(const TrainingProfile& one, const TrainingProfile& two, const TrainingSetup& setup,
                              double limit_bytes) {
  auto fits = [&](int64_t batch) {
    return training_memory(at_batch(one, two, static_cast<double>(batch)), setup).total() <= limit_bytes;
  };
  if (!fits(1)) return 0;
  constexpr int64_t kMost = int64_t{1} << 30;
  int64_t low = 1, high = 2;
  while (high < kMost && fits(high)) low = std::exchange(high, high * 2);
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace ridge::sizing
