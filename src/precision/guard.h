// The accuracy guard: whether a candidate's outputs may replace the FP32 model's.
//
// Both run on the same held-out samples; each output is judged by itself, over all samples together. It fails if
//   - a value is not a number or infinite where the reference is finite, or
//   - with `max_deviation`: its relative L2 distance from the reference is above that, or
//   - without: its cosine with the reference is below `cosine`, or it is classifier-shaped and its largest element
//     has the same index in fewer than `top1_agreement` of the rows.
// Classifier-shaped: floating point, rank 2, [rows, classes] with at least two classes; but not a vector that describes
// its row (an embedding), recognised by its operator: vector_outputs().
// The largest absolute difference is always reported and never decides.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/graph.h"
#include "precision/deviation.h"
#include "precision/sample_files.h"

namespace ridge::precision {

struct GuardLimits {
  double cosine = 0.999;                // minimum, for every output
  double top1_agreement = 0.99;         // minimum, for every classifier-shaped one; share of rows
  std::optional<double> max_deviation;  // upper limit of the relative L2, instead of both
  std::set<std::string> vectors;        // outputs never judged by top-1, of any shape
};
void visit_fields(auto& visit, Is<GuardLimits> auto& limits) {
  if (limits.max_deviation) return visit("max_drift", limits.max_deviation);
  visit("cosine", limits.cosine);
  visit("top1_agreement", limits.top1_agreement);
}

// Outputs of the graph produced by Tanh or a normalisation to length or variance (through operators that only move
// values): the index of their largest element does not name a class. BERT's pooled output is one: it saturates at 1.
std::set<std::string> vector_outputs(const model::Graph& graph);

struct OutputDeviation {
  std::string name;
  Deviation deviation;
  bool classifier = false;
  int64_t rows = 0;  // rows compared by top-1; 0: none
  bool holds = true;
  std::string failure;  // the violated limit, with figures: "cosine 0.9971, at least 0.999"; empty: none
};
void visit_fields(auto& visit, Is<OutputDeviation> auto& output) {
  visit_fields(visit, output.deviation);
  visit("name", output.name);
  visit("classifier", output.classifier);
  visit("rows", output.rows);
  visit("holds", output.holds);
  visit.unless_empty("failure", output.failure);
}

struct AccuracyVerdict {
  bool holds = false;
  std::string sentence;  // why, in full sentences
  std::vector<OutputDeviation> outputs;
  Deviation worst;     // over the outputs: largest max_abs and relative_l2, least cosine; top-1 of classifiers only
  size_t samples = 0;  // judged samples
};
void visit_fields(auto& visit, Is<AccuracyVerdict> auto& verdict) {
  visit("holds", verdict.holds);
  visit("sentence", verdict.sentence);
  visit("samples", verdict.samples);
  visit("drift", verdict.worst);
  visit("outputs", verdict.outputs);
}

// A model's outputs for samples: taken once from the reference, compared with each candidate.
struct Answers {
  std::vector<TensorSpec> outputs;              // as declared by the model
  std::vector<std::vector<Tensor>> per_sample;  // in the order of the samples
};

struct AnswerOptions {
  double seconds = 0;                 // stop when this much time has passed, two samples at least; 0 = no limit
  std::function<bool()> interrupted;  // polled between samples; may be empty
  const Clock* clock = &system_clock();
};

// Runs `session` on the samples. Error: a run that fails; kCancelled.
Result<Answers> answers_of(engine::Session& session, std::span<const Sample> samples,
                           const AnswerOptions& options = {});

// True if the outputs are NaN, or equal for all samples (of one: in all elements): agreeing with them says nothing.
bool say_nothing(const Answers& answers);

// Runs `candidate` on the samples for which `reference` has outputs, and compares. Errors: a run that fails,
// outputs with other names or shapes; kCancelled.
Result<AccuracyVerdict> judge(const Answers& reference, engine::Session& candidate, std::span<const Sample> samples,
                              const GuardLimits& limits, const std::function<bool()>& interrupted = {});

// The decision alone: each output's deviation against the limits.
AccuracyVerdict judged(std::vector<OutputDeviation> outputs, size_t samples, const GuardLimits& limits);

// True if outputs with that deviation meet the limits, without top-1: for the few rows of one batch.
bool within(const Deviation& deviation, const GuardLimits& limits);

bool is_classifier_shaped(const TensorView& output);
std::string describe(const GuardLimits& limits);  // "cosine ≥ 0.999 for every output and …"

}  // namespace ridge::precision
