#include "sizing/training_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/costs.h"
#include "cost/operators.h"

namespace ridge::sizing {
namespace {

bool fits(const TrainingDevice& device, const TrainingMemory& memory) {
  return device.memory_bytes <= 0 || memory.total() <= device.memory_bytes - device.reserved_bytes;
}

TrainingPoint point_at(const TrainingProfile& profile, const TrainingQuestion& question) {
  TrainingPoint point;
  point.batch = static_cast<int64_t>(profile.batch);
  point.memory = training_memory(profile, question.setup);
  point.fits = fits(question.device, point.memory);
  if (question.device.flops_per_s > 0)
    point.speed =
        training_speed(profile, question.setup, question.device.flops_per_s, question.link, question.assumptions);
  return point;
}

void add_curve(const TrainingProfile& one, const TrainingProfile& two, const TrainingQuestion& question,
               TrainingPlan& plan) {
  if (question.device.memory_bytes > 0)
    plan.max_batch =
        largest_fitting_batch(one, two, question.setup, question.device.memory_bytes - question.device.reserved_bytes);
  int64_t last = std::max<int64_t>(2 * plan.max_batch.value_or(0), 2 * question.batch);
  for (int64_t batch = 1; batch <= last && plan.curve.size() < 24; batch *= 2)
    plan.curve.push_back(point_at(at_batch(one, two, static_cast<double>(batch)), question));
}

// Handbook L26: 35 % less memory for about 37 % fewer iterations per second.
std::string checkpoint_note(const TrainingProfile& profile, const TrainingSetup& setup, const TrainingMemory& memory) {
  TrainingSetup plain = setup;
  plain.checkpoint = false;
  double saved = 1 - memory.total() / training_memory(profile, plain).total();
  double slower = 1 - passes_of(plain) / passes_of(setup);
  return fmt::format(
      "checkpointing takes {:.0f} % of the memory off and, by its FLOPs, {:.0f} % of the rate, with the cuts that "
      "leave least; the handbook has 35 % and 37 % (L26), of coarser cuts",
      100 * saved, 100 * slower);
}

void add_notes(const TrainingProfile& profile, const TrainingQuestion& question, TrainingPlan& plan) {
  auto note = [&](std::string text) { plan.notes.push_back(std::move(text)); };
  const TrainingSetup& setup = question.setup;
  bool normalises = false, convolves = false;
  for (const model::Node& node : question.one->nodes) {
    const cost::Operator& row = cost::operator_of(node.domain, node.op);
    normalises = normalises || row.is(cost::Trait::kNormalises);
    convolves = convolves || row.kernel == cost::KernelFamily::kConvolution;
  }
  if (convolves && !normalises)
    note(
        "the file has convolutions without normalisation: if they were folded in for inference, training keeps up to "
        "twice the activations shown");
  for (const std::string& op : profile.without_rule)
    note(fmt::format("{}: no rule for its gradient; all its inputs and outputs are counted, an upper bound", op));
  if (setup.checkpoint) note(checkpoint_note(profile, setup, plan.point.memory));
  if (setup.tensor > 1)
    note(
        "tensor parallelism includes sequence parallelism: every activation is split; the time of its "
        "communication inside layers is not counted");
  if (setup.lora_rank > 0 && profile.linear_dimensions == 0)
    note("the model has no linear layer with a constant matrix for LoRA to adapt");
  if (setup.precision == TrainingPrecision::kMixed)
    note(
        "mixed precision as in the ZeRO paper: FP16 weights and gradients, FP32 master weights and moments; autocast "
        "instead keeps FP32 weights and gradients, the same sum, and some operators in FP32");
  if (setup.offload) note("offload: the time to move gradients and weights over the bus is not counted");
}

}  // namespace

TrainingPlan plan_training(const TrainingQuestion& question) {
  TrainingPlan plan;
  plan.setup = question.setup;
  plan.device = question.device;
  plan.link = question.link;
  plan.assumptions = question.assumptions;
  TrainingProfile one = profile(*question.one, static_cast<double>(question.batch), question.setup);
  plan.point = point_at(one, question);
  plan.kept_bytes_per_row = one.kept_bytes / one.batch;
  plan.kept_by_operator = one.kept_by_operator;
  add_notes(one, question, plan);
  if (question.two != nullptr)
    add_curve(one, profile(*question.two, static_cast<double>(question.batch_of_two), question.setup), question, plan);
  else
    plan.notes.push_back("the file fixes the batch: no curve over batches");
  return plan;
}

}  // namespace ridge::sizing
