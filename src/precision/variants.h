// Variants: the same model in other precisions, each with its accuracy verdict. Each is a row of variant_kinds(); the
// engines' rows say which engine runs it where (engine/engines.h).
//
// A variant with ranges uses the calibration samples: min-max first; if the guard fails, percentile and entropy. If it
// still fails, for any variant, the most costly layers stay in FP32.
//
// Files are stored in the caller's folder under a digest of all their inputs, so an existing variant is judged again
// but not written again.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "model/reader.h"
#include "plan/device.h"
#include "plan/plan.h"
#include "precision/evaluation.h"
#include "precision/guard.h"
#include "precision/pass_report.h"
#include "precision/quantise.h"
#include "precision/samples.h"
#include "precision/sensitivity.h"

namespace ridge::precision {

struct VariantKind {
  std::string_view name;
  Precision precision;               // of the arithmetic
  int arithmetic_bits, weight_bits;  // per value
  bool matrices_only = false;        // changes only matrix multiplications
  // Writes the variant's file; null: the original model, or one with ranges, which quantise_static() writes.
  Result<PassReport> (*write)(const VariantKind&, const model::WholeModel&, const QuantiseOptions&,
                              const std::string& out_file) = nullptr;
  int64_t weight_block = 0;   // values per scale of the weights; 0: not in blocks
  bool needs_ranges = false;  // of activations, from the calibration samples
};

// The original model first: "fp32".
std::span<const VariantKind> variant_kinds();
// Error: no such variant, with the names.
Result<const VariantKind*> variant_kind(std::string_view name);

inline bool is_given(const VariantKind& kind) { return kind.write == nullptr && !kind.needs_ranges; }
// Bytes of the stored weights ÷ those of weights in the precision of the arithmetic.
inline double weight_scale(const VariantKind& kind) {
  return static_cast<double>(kind.weight_bits) / kind.arithmetic_bits;
}

// The best INT8 form for a CPU with these instructions (machine::Machine's isa): x86 without VNNI adds pairs of u8·s8
// products in 16 bits, which saturate, so weights get 7 bits. Source: ONNX Runtime, "Quantize ONNX models", "When and
// why do I need to try U8U8?". On a GPU activations are symmetric: TensorRT's "explicit quantization" has no zero
// points (NVIDIA, TensorRT Developer Guide, "Working with Quantized Types").
QuantiseOptions quantise_options(const std::vector<std::string>& isa, const plan::Device& device = {});

struct VariantOptions {
  GuardLimits limits;
  QuantiseOptions quantise;  // the engine's form (symmetric activations, 7-bit weights, form of the weights)
  double seconds = 120;      // for calibration and sensitivity together
  size_t few = 8;            // held-out samples for measuring a layer's sensitivity
  std::string folder;        // for files; created if missing
  std::optional<EvaluationOptions> evaluation;                          // with --eval: decides instead of the limits
  double evaluation_reference = 0;                                      // the command's number for the FP32 model
  std::function<bool()> interrupted;                                    // polled; may be empty
  std::function<void(const std::string& step, double share)> progress;  // may be empty
  const Clock* clock = &system_clock();
};

struct Variant {
  std::string name;
  Precision precision = Precision::kFp32;
  std::string model;   // the file
  std::string digest;  // of its content and its weights' file
  PassReport report;
  AccuracyVerdict verdict;
  std::optional<EvaluationVerdict> evaluation;
  bool holds = false;       // by the evaluation if there is one, by the verdict otherwise
  std::string calibration;  // "percentile 99.99 over 64 samples (32 pictures of DIR)"; empty: needs none
  std::vector<LayerSensitivity> sensitivity;  // most costly first; empty: not measured
  std::vector<std::string> kept;              // nodes in FP32 for accuracy
  bool reused = false;                        // the file was there already
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<Variant> auto& variant) {
  visit("name", variant.name);
  visit("precision", variant.precision);
  visit("model", variant.model);
  visit("bytes", variant.report.bytes);
  visit("changed_nodes", variant.report.changed_nodes);
  visit("kept_nodes", variant.report.kept_nodes);
  visit("holds", variant.holds);
  visit("verdict", variant.verdict);
  visit.unless_empty("evaluation", variant.evaluation);
  visit("calibration", variant.calibration);
  visit("kept", variant.kept);
  visit("sensitivity", variant.sensitivity);
  visit("reused", variant.reused);
  visit("notes", variant.notes);
}

// The FP32 model and its references: shared by all variants.
struct VariantBasis {
  const model::WholeModel& model;
  const plan::Plan& plan;  // FP32, shapes at batch 1, the engine that runs the variant
  const std::vector<TensorSpec>& inputs;
  const Samples& samples;
  const Answers& reference;  // the FP32 model's, to samples.held_out
};

// Writes and judges one variant. A variant that loses its accuracy has holds = false and the reason in its verdict.
// Errors: an unknown name; a model that the pass cannot handle; an engine that cannot run the file; --eval fails;
// kCancelled.
Result<Variant> make_variant(const VariantBasis& basis, const std::string& name, const VariantOptions& options);

}  // namespace ridge::precision
