#include "precision/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/element.h"
#include "base/units.h"
#include "cost/operators.h"
#include "precision/samples.h"

namespace ridge::precision {
namespace {

constexpr size_t kLeastSamples = 2;

Error cancelled() { return {Code::kCancelled, "interrupted while the outputs were compared"}; }

Result<std::vector<engine::Output>> run(engine::Session& session, const Sample& sample) {
  const std::vector<TensorView> inputs = views_of(sample);
  std::vector<int> wanted(session.signature().outputs.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::vector<engine::Output> outputs(wanted.size());
  RIDGE_TRY(session.run(inputs, wanted, outputs));
  return outputs;
}

// The index of each of the reference's outputs among the candidate's.
Result<std::vector<size_t>> match(const Answers& reference, const engine::Signature& candidate) {
  std::vector<size_t> places;
  for (const TensorSpec& output : reference.outputs) {
    const auto found = std::find_if(candidate.outputs.begin(), candidate.outputs.end(),
                                    [&](const TensorSpec& spec) { return spec.name == output.name; });
    if (found == candidate.outputs.end())
      return Error{Code::kFailed,
                   fmt::format("the candidate has no output '{}', which the FP32 model has", output.name)};
    places.push_back(static_cast<size_t>(found - candidate.outputs.begin()));
  }
  return places;
}

// The sample in the candidate's input types (a model converted with its inputs takes FP16).
Result<Sample> in_types_of(const engine::Signature& signature, const Sample& sample) {
  Sample result;
  for (size_t i = 0; i < sample.size(); ++i) {
    RIDGE_ASSIGN(Tensor tensor, converted(sample[i].view(), signature.inputs[i].type, signature.inputs[i].name));
    result.push_back(std::move(tensor));
  }
  return result;
}

bool takes(const engine::Signature& signature, const Sample& sample) {
  for (size_t i = 0; i < sample.size(); ++i)
    if (signature.inputs[i].type != sample[i].type) return false;
  return true;
}

Result<std::vector<engine::Output>> run_as_taken(engine::Session& session, const Sample& sample) {
  if (sample.size() != session.signature().inputs.size())
    return Error{Code::kFailed, fmt::format("the candidate has {} inputs, the FP32 model {}",
                                            session.signature().inputs.size(), sample.size())};
  if (takes(session.signature(), sample)) return run(session, sample);
  RIDGE_ASSIGN(const Sample fitting, in_types_of(session.signature(), sample));
  return run(session, fitting);
}

// The violated limit of an output, with figures; empty: none.
std::string failure_of(const OutputDeviation& output, const GuardLimits& limits) {
  const Deviation& deviation = output.deviation;
  if (!std::isfinite(deviation.max_abs) || std::isnan(deviation.cosine))
    return "non-finite values where the FP32 model's are finite";
  if (limits.max_deviation) {
    if (deviation.relative_l2 <= *limits.max_deviation) return "";
    return fmt::format("relative L2 {:.3g}, at most {:g}", deviation.relative_l2, *limits.max_deviation);
  }
  if (!(deviation.cosine >= limits.cosine))
    return fmt::format("cosine {:.6f}, at least {:g}", deviation.cosine, limits.cosine);
  if (output.classifier && deviation.top1_agreement < limits.top1_agreement)
    return fmt::format("same top-1 in {:.0f} of {} rows, at least {:g} %",
                       deviation.top1_agreement * static_cast<double>(output.rows), output.rows,
                       100 * limits.top1_agreement);
  return "";
}

Deviation worst_of(const std::vector<OutputDeviation>& outputs) {
  Deviation worst;
  for (const OutputDeviation& output : outputs) {
    worst.max_abs = std::max(worst.max_abs, output.deviation.max_abs);
    worst.relative_l2 = std::max(worst.relative_l2, output.deviation.relative_l2);
    worst.elements += output.deviation.elements;
    worst.not_finite += output.deviation.not_finite;
    worst.cosine = std::min(worst.cosine, output.deviation.cosine);
    if (output.classifier) worst.top1_agreement = std::min(worst.top1_agreement, output.deviation.top1_agreement);
  }
  return worst;
}

std::string sentence_of(const AccuracyVerdict& verdict, const GuardLimits& limits) {
  std::string failures;
  for (const OutputDeviation& output : verdict.outputs)
    if (!output.holds) failures += fmt::format("{}'{}': {}", failures.empty() ? "" : "; ", output.name, output.failure);
  if (!failures.empty())
    return fmt::format("Accuracy is lost over {}: {}.", counted(static_cast<int64_t>(verdict.samples), "sample"),
                       failures);
  if (verdict.outputs.empty()) return "The model has no comparable outputs.";
  if (limits.max_deviation)
    return fmt::format("Accuracy holds over {}: relative L2 at most {:.3g}, allowed {:g}{}.",
                       counted(static_cast<int64_t>(verdict.samples), "sample"), verdict.worst.relative_l2,
                       *limits.max_deviation, not_finite_text(verdict.worst));
  const bool classifies = std::any_of(verdict.outputs.begin(), verdict.outputs.end(),
                                      [](const OutputDeviation& output) { return output.classifier; });
  return fmt::format(
      "Accuracy holds over {}: cosine at least {:.6f}{}{}.", counted(static_cast<int64_t>(verdict.samples), "sample"),
      verdict.worst.cosine,
      classifies ? fmt::format(", same top-1 in {:.4g} % of rows", 100 * verdict.worst.top1_agreement) : "",
      not_finite_text(verdict.worst));
}

}  // namespace

bool within(const Deviation& deviation, const GuardLimits& limits) {
  return limits.max_deviation ? deviation.relative_l2 <= *limits.max_deviation : deviation.cosine >= limits.cosine;
}

bool is_classifier_shaped(const TensorView& output) {
  return is_floating(output.type) && output.shape.size() == 2 && output.shape[1] >= 2;
}

std::set<std::string> vector_outputs(const model::Graph& graph) {
  std::set<int> vectors;  // tensors
  for (const model::Node& node : graph.nodes) {
    const cost::Operator& row = cost::operator_of(node.domain, node.op);
    const bool kept = row.values == cost::Values::kSameValues || row.values == cost::Values::kConverted;
    const bool moved = kept && !node.inputs.empty() && vectors.contains(node.inputs[0]);
    if (moved || row.is(cost::Trait::kVectors)) vectors.insert(node.outputs.begin(), node.outputs.end());
  }
  std::set<std::string> names;
  for (int output : graph.outputs)
    if (vectors.contains(output)) names.insert(graph.tensors[static_cast<size_t>(output)].name);
  return names;
}

Result<Answers> answers_of(engine::Session& session, std::span<const Sample> samples, const AnswerOptions& options) {
  const TimePoint begin = options.clock->now();
  Answers answers;
  answers.outputs = session.signature().outputs;
  for (const Sample& sample : samples) {
    if (options.interrupted && options.interrupted()) return cancelled();
    const bool late = options.seconds > 0 && to_seconds(options.clock->now() - begin) > options.seconds;
    if (late && answers.per_sample.size() >= kLeastSamples) break;
    RIDGE_ASSIGN(const std::vector<engine::Output> outputs, run(session, sample));
    std::vector<Tensor> copies;
    for (const engine::Output& output : outputs) copies.push_back(copy_of({output.type, output.shape, output.data}));
    answers.per_sample.push_back(std::move(copies));
  }
  return answers;
}

bool say_nothing(const Answers& answers) {
  const auto equal = [](std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  // Not a number equals none, so that every other form of the model would agree with it.
  const auto is_nan = [](const Tensor& output) {
    const std::vector<double> values = elements(output.view());
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  };
  if (answers.per_sample.empty()) return false;
  const std::vector<Tensor>& first = answers.per_sample.front();
  if (std::all_of(answers.per_sample.begin(), answers.per_sample.end(),
                  [&](const auto& sample) { return std::all_of(sample.begin(), sample.end(), is_nan); }))
    return true;
  for (const std::vector<Tensor>& sample : answers.per_sample)
    for (size_t i = 0; i < sample.size(); ++i)
      if (!equal(sample[i].data.span(), first[i].data.span())) return false;
  if (answers.per_sample.size() > 1) return true;
  return std::all_of(first.begin(), first.end(), [](const Tensor& output) {
    const std::vector<double> values = elements(output.view());
    return values.size() > 1 && std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  });
}

Result<AccuracyVerdict> judge(const Answers& reference, engine::Session& candidate, std::span<const Sample> samples,
                              const GuardLimits& limits, const std::function<bool()>& interrupted) {
  RIDGE_ASSIGN(const std::vector<size_t> places, match(reference, candidate.signature()));
  std::vector<DeviationMeter> meters(places.size());
  std::vector<OutputDeviation> deviations(places.size());
  const size_t count = std::min(reference.per_sample.size(), samples.size());
  for (size_t s = 0; s < count; ++s) {
    if (interrupted && interrupted()) return cancelled();
    RIDGE_ASSIGN(const std::vector<engine::Output> outputs, run_as_taken(candidate, samples[s]));
    for (size_t i = 0; i < places.size(); ++i) {
      const engine::Output& output = outputs[places[i]];
      const TensorView expected = reference.per_sample[s][i].view();
      if (Status added = meters[i].add(expected, {output.type, output.shape, output.data}); !added)
        return wrap(added.error(), fmt::format("output '{}'", reference.outputs[i].name));
      deviations[i].classifier = is_classifier_shaped(expected) && !limits.vectors.contains(reference.outputs[i].name);
      if (deviations[i].classifier) deviations[i].rows += expected.shape[0];
    }
  }
  for (size_t i = 0; i < deviations.size(); ++i) {
    deviations[i].name = reference.outputs[i].name;
    deviations[i].deviation = meters[i].result();
  }
  return judged(std::move(deviations), count, limits);
}

AccuracyVerdict judged(std::vector<OutputDeviation> outputs, size_t samples, const GuardLimits& limits) {
  AccuracyVerdict verdict;
  verdict.outputs = std::move(outputs);
  verdict.samples = samples;
  verdict.holds = !verdict.outputs.empty() && samples > 0;
  for (OutputDeviation& output : verdict.outputs) {
    output.failure = failure_of(output, limits);
    output.holds = output.failure.empty();
    verdict.holds = verdict.holds && output.holds;
  }
  verdict.worst = worst_of(verdict.outputs);
  verdict.sentence = sentence_of(verdict, limits);
  return verdict;
}

std::string describe(const GuardLimits& limits) {
  if (limits.max_deviation) return fmt::format("relative L2 ≤ {:g} for every output", *limits.max_deviation);
  return fmt::format(
      "cosine ≥ {:g} for every output and the same top-1 in ≥ {:g} % of the rows of classifier-shaped ones",
      limits.cosine, 100 * limits.top1_agreement);
}

}  // namespace ridge::precision
