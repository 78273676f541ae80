// The memory for training a model per device: parameters, gradients, optimiser states, activations, under mixed
// precision, checkpointing, ZeRO, tensor and pipeline parallelism, offload and LoRA.
//
// Sources: Rajbhandari et al. 2020 (ZeRO, section 3 and table 1), Ren et al. 2021 (ZeRO-Offload, section 4), Narayanan
// et al. 2021 (pipelines, section 2.2), Korthikanti et al. 2022 (tensor parallelism with sequence parallelism, equation
// 4), Hu et al. 2021 (LoRA), Dettmers et al. 2023 (QLoRA, section 3). Pure; speed is in training_speed.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/figure.h"
#include "base/result.h"
#include "model/graph.h"

namespace ridge::sizing {

enum class Optimiser { kSgd, kMomentum, kAdam, kAdamw };
NameTable<Optimiser> names_of(Optimiser);
std::string_view optimiser_name(Optimiser optimiser);
Result<Optimiser> optimiser_from_name(const std::string& name);

// kMixed: FP16 weights and gradients, FP32 master weights and moments. kBf16: everything in BF16.
enum class TrainingPrecision { kFp32, kMixed, kBf16 };
NameTable<TrainingPrecision> names_of(TrainingPrecision);
std::string_view training_precision_name(TrainingPrecision precision);  // "fp32", "mixed", "bf16"
Result<TrainingPrecision> training_precision_from_name(const std::string& name);

struct TrainingSetup {
  Optimiser optimiser = Optimiser::kAdam;
  TrainingPrecision precision = TrainingPrecision::kFp32;
  bool checkpoint = false;
  int64_t accumulate = 1;  // micro-batches per step; the graph's batch is one micro-batch of one replica
  int zero_stage = 0;      // 0 … 3, over the data-parallel replicas
  int devices = 1;         // all together; replicas = devices / (tensor × pipeline)
  int tensor = 1;
  int pipeline = 1;
  bool offload = false;   // ZeRO-Offload: gradients, master weights and moments in host memory
  int64_t lora_rank = 0;  // 0: all parameters are trained
  bool qlora = false;     // the linear layers' frozen weights in 4-bit NF4
};
// Errors: numbers below 1, devices that are not a multiple of tensor × pipeline, qlora without a rank, …
Status check(const TrainingSetup& setup);
int64_t replicas_of(const TrainingSetup& setup);
void visit_fields(auto& visit, Is<TrainingSetup> auto& setup) {
  visit("optimiser", setup.optimiser);
  visit("precision", setup.precision);
  visit("checkpoint", setup.checkpoint);
  visit("accumulate", setup.accumulate);
  visit("zero", setup.zero_stage);
  visit("devices", setup.devices);
  visit("tensor", setup.tensor);
  visit("pipeline", setup.pipeline);
  visit.derived("data", replicas_of(setup));
  visit("offload", setup.offload);
  visit("lora_rank", setup.lora_rank);
  visit("qlora", setup.qlora);
}

// The parts of a graph at one batch that count for training.
struct TrainingProfile {
  double batch = 1;
  double parameters = 0;
  double linear_parameters = 0;   // of MatMul and Gemm with a constant matrix: adapted by LoRA, quantised by QLoRA
  double linear_dimensions = 0;   // Σ (inputs + outputs) of those matrices: adapters have rank × this parameters
  double linear_rows = 0;         // Σ their rows: adapters keep rank × this
  double largest_parameters = 0;  // of the largest weight
  double forward_flops = 0;       // of one batch
  double nodes = 0;               // executed nodes
  double kept_bytes = 0, peak_bytes = 0, checkpointed_bytes = 0;  // from saved_activations()
  std::vector<std::pair<std::string, double>> kept_by_operator;
  std::vector<std::string> without_rule;
};
TrainingProfile profile(const model::Graph& graph, double batch, const TrainingSetup& setup);
// At another batch, on the straight line through two: every activation has a part per row and a fixed part.
TrainingProfile at_batch(const TrainingProfile& one, const TrainingProfile& two, double batch);

// [bytes] per device, peak.
struct TrainingMemory {
  double parameters = 0;
  double gradients = 0;
  double optimiser = 0;    // moments, and the FP32 master weights of mixed precision
  double activations = 0;  // kept for backward (or, with checkpointing, cuts and one segment)
  double working = 0;      // gradients of activations; one layer's gathered weights with ZeRO 3
  double host = 0;         // in host memory, with offload; not part of the total
  double trained_parameters = 0;
  double total() const { return parameters + gradients + optimiser + activations + working; }
};
void visit_fields(auto& visit, Is<TrainingMemory> auto& memory) {
  visit("parameters", memory.parameters);
  visit("gradients", memory.gradients);
  visit("optimiser", memory.optimiser, means("moments, and the FP32 master weights of mixed precision"));
  visit("activations", memory.activations, means("kept for backward"));
  visit("working", memory.working, means("gradients of activations; one layer's gathered weights with ZeRO 3"));
  visit.derived("total", memory.total());
  visit("host", memory.host, means("in host memory, with offload; not part of the total"));
  visit("trained_parameters", memory.trained_parameters);
}
TrainingMemory training_memory(const TrainingProfile& profile, const TrainingSetup& setup);

// Bytes per parameter.
struct StateBytes {
  double parameter = 4, gradient = 4, optimiser = 8;
};
StateBytes state_bytes(Optimiser optimiser, TrainingPrecision precision);
// Bytes per parameter and device after ZeRO: stage 1 shares the optimiser among `replicas`, 2 gradients too, 3 all.
StateBytes share_by_zero(const StateBytes& bytes, int stage, int64_t replicas);

// The largest batch whose memory is at most `limit_bytes`; 0 if not even one row fits. `memory` must not decrease.
int64_t largest_fitting_batch(const TrainingProfile& one, const TrainingProfile& two, const TrainingSetup& setup,
                              double limit_bytes);

}  // namespace ridge::sizing
