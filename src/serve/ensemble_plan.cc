#include "serve/ensemble_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "serve/reshape.h"

namespace ridge::serve {
namespace {

std::string step_text(size_t step, const std::string& model) {
  return fmt::format("step {} (model '{}')", step, model);
}

Status check_maps(const std::vector<EnsembleStepMaps>& steps) {
  if (steps.empty()) return invalid("ensemble_scheduling needs at least one step");
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].model.empty()) return invalid(fmt::format("step {} of ensemble_scheduling needs a model_name", i));
    const std::string which = step_text(i, steps[i].model);
    if (steps[i].version < 0)
      return invalid(
          fmt::format("{}: model_version must be -1 (the highest) or a version, found {}", which, steps[i].version));
    if (steps[i].inputs.empty()) return invalid(which + " needs an input_map");
    if (steps[i].outputs.empty()) return invalid(which + " needs an output_map");
    for (const EnsembleStepMaps::Map* map : {&steps[i].inputs, &steps[i].outputs})
      for (const auto& [of_model, of_ensemble] : *map)
        if (of_model.empty() || of_ensemble.empty())
          return invalid(fmt::format("{} maps '{}' to '{}'; both names are needed", which, of_model, of_ensemble));
  }
  return {};
}

// Builds the plan; `tensors` by name.
class PlanBuilder {
 public:
  explicit PlanBuilder(const std::vector<EnsembleStepMaps>& steps) : maps_(steps) {
    for (const EnsembleStepMaps& step : steps) plan_.steps.push_back({step.model, step.version, {}, {}});
  }

  Status add_inputs(std::span<const std::string> names) {
    for (const std::string& name : names)
      if (!add(name, std::nullopt)) return invalid(fmt::format("input '{}' is configured twice", name));
    return {};
  }

  Status add_step_outputs() {
    for (size_t step = 0; step < maps_.size(); ++step)
      for (const auto& [of_model, name] : maps_[step].outputs) {
        if (!add(name, step)) return twice(name, step);
        plan_.steps[step].outputs.push_back({of_model, index_.at(name)});
      }
    return {};
  }

  Status add_step_inputs() {
    for (size_t step = 0; step < maps_.size(); ++step)
      for (const auto& [of_model, name] : maps_[step].inputs) {
        const auto found = index_.find(name);
        if (found == index_.end())
          return invalid(fmt::format(
              "{} takes tensor '{}', which is neither an input of the ensemble nor given by a step", text(step), name));
        plan_.steps[step].inputs.push_back({of_model, found->second});
        plan_.tensors[found->second].to.push_back(step);
      }
    return {};
  }

  Status add_outputs(std::span<const std::string> names) {
    for (const std::string& name : names) {
      const auto found = index_.find(name);
      if (found == index_.end()) return invalid(fmt::format("output '{}' is given by no step", name));
      if (!plan_.tensors[found->second].from)
        return invalid(fmt::format("'{}' is an input of the ensemble and its output; remove the output", name));
      if (is_output(found->second)) return invalid(fmt::format("output '{}' is configured twice", name));
      plan_.outputs.push_back(found->second);
    }
    return {};
  }

  Status check_uses() const {
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const EnsembleTensor& tensor = plan_.tensors[i];
      if (!tensor.to.empty() || is_output(i)) continue;
      if (!tensor.from) return invalid(fmt::format("input '{}' is used by no step", tensor.name));
      return invalid(
          fmt::format("tensor '{}' of {} is used by no step and is not an output; remove it from the output_map",
                      tensor.name, text(*tensor.from)));
    }
    return {};
  }

  // Runs the steps whose tensors are there until none is left; what is left is a cycle, or behind one.
  Status check_order() const {
    std::vector<size_t> missing(plan_.steps.size(), 0);
    for (const EnsembleTensor& tensor : plan_.tensors)
      for (const size_t step : tensor.to) missing[step] += tensor.from ? 1 : 0;
    std::vector<size_t> due;
    for (size_t step = 0; step < missing.size(); ++step)
      if (missing[step] == 0) due.push_back(step);
    for (size_t i = 0; i < due.size(); ++i)
      for (const EnsembleStep::Use& output : plan_.steps[due[i]].outputs)
        for (const size_t step : plan_.tensors[output.tensor].to)
          if (--missing[step] == 0) due.push_back(step);
    for (size_t step = 0; step < missing.size(); ++step)
      if (missing[step] > 0) return cycle_from(step, missing);
    return {};
  }

  EnsemblePlan take() { return std::move(plan_); }

 private:
  bool add(const std::string& name, std::optional<size_t> from) {
    if (!index_.emplace(name, plan_.tensors.size()).second) return false;
    plan_.tensors.push_back({name, from, {}});
    return true;
  }

  std::string text(size_t step) const { return serve::step_text(plan_, step); }

  bool is_output(size_t tensor) const {
    return std::find(plan_.outputs.begin(), plan_.outputs.end(), tensor) != plan_.outputs.end();
  }

  Error twice(const std::string& name, size_t step) const {
    const std::optional<size_t> first = plan_.tensors[index_.at(name)].from;
    return invalid(fmt::format("tensor '{}' is given by {} and is {}; a tensor comes from one place", name, text(step),
                               first ? "given by " + text(*first) : std::string("an input of the ensemble")));
  }

  // Walks back from any waiting step through what it waits for, until a cycle closes.
  Error cycle_from(size_t step, const std::vector<size_t>& missing) const {
    std::vector<size_t> way;
    while (std::find(way.begin(), way.end(), step) == way.end()) {
      way.push_back(step);
      for (const EnsembleStep::Use& input : plan_.steps[step].inputs)
        if (const auto from = plan_.tensors[input.tensor].from; from && missing[*from] > 0) step = *from;
    }
    way.erase(way.begin(), std::find(way.begin(), way.end(), step));
    std::reverse(way.begin(), way.end());
    std::vector<std::string> names;
    for (const size_t each : way) names.push_back(text(each));
    return invalid(fmt::format("each of these steps waits for a tensor of the one before, in a circle: {}",
                               fmt::join(names, " → ")));
  }

  const std::vector<EnsembleStepMaps>& maps_;
  EnsemblePlan plan_;
  std::map<std::string, size_t> index_;
};

// Where a tensor is seen, with what it is there.
struct TensorUser {
  const ModelSettings& model;
  const TensorSettings& tensor;
};

bool agree(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](int64_t left, int64_t right) { return left == right || left < 0 || right < 0; });
}

Shape whole_shape(const TensorUser& view) {
  Shape shape = view.tensor.dims;
  if (view.model.batching()) shape.insert(shape.begin(), -1);
  return shape;
}

Status check_agreement(const std::string& name, const TensorUser& from, const TensorUser& to) {
  const bool fits = agree(from.tensor.dims, to.tensor.dims) || agree(whole_shape(from), whole_shape(to));
  if (from.tensor.type == to.tensor.type && fits) return {};
  return invalid(fmt::format("tensor '{}' is {} {} as '{}' of '{}', but {} {} as '{}' of '{}'", name,
                             data_type_name(from.tensor.type), shape_text(whole_shape(from)), from.tensor.name,
                             from.model.name, data_type_name(to.tensor.type), shape_text(whole_shape(to)),
                             to.tensor.name, to.model.name));
}

const TensorSettings* find_by_name(const std::vector<TensorSettings>& tensors, const std::string& name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const TensorSettings& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Result<const TensorSettings*> model_tensor(const std::vector<TensorSettings>& tensors, const std::string& name,
                                           std::string_view kind) {
  if (const TensorSettings* tensor = find_by_name(tensors, name)) return tensor;
  std::vector<std::string> names;
  for (const TensorSettings& tensor : tensors) names.push_back(tensor.name);
  return invalid(fmt::format("the model has no {} '{}'; it has '{}'", kind, name, fmt::join(names, "', '")));
}

Status check_inputs_mapped(const ModelSettings& model, const EnsembleStep& step) {
  for (const TensorSettings& input : model.inputs) {
    const bool mapped = std::any_of(step.inputs.begin(), step.inputs.end(),
                                    [&](const EnsembleStep::Use& use) { return use.name == input.name; });
    if (!mapped && !input.optional)
      return invalid(fmt::format("the model's input '{}' is missing in the input_map", input.name));
  }
  return {};
}

Status check_batch_size(const ModelSettings& ensemble, const ModelSettings& model) {
  if (!model.batching() || model.max_batch_size >= ensemble.max_batch_size) return {};
  return invalid(fmt::format("the model's max_batch_size is {}, that of the ensemble {}; it may not be larger",
                             model.max_batch_size, ensemble.max_batch_size));
}

}  // namespace

std::string step_text(const EnsemblePlan& plan, size_t step) { return step_text(step, plan.steps[step].model); }

Result<EnsemblePlan> plan_ensemble(std::span<const std::string> inputs, std::span<const std::string> outputs,
                                   const std::vector<EnsembleStepMaps>& steps) {
  RIDGE_TRY(check_maps(steps));
  PlanBuilder builder(steps);
  RIDGE_TRY(builder.add_inputs(inputs));
  RIDGE_TRY(builder.add_step_outputs());
  RIDGE_TRY(builder.add_step_inputs());
  RIDGE_TRY(builder.add_outputs(outputs));
  RIDGE_TRY(builder.check_uses());
  RIDGE_TRY(builder.check_order());
  return builder.take();
}

Status check_models(const ModelSettings& ensemble, const EnsemblePlan& plan,
                    std::span<const ModelSettings* const> models) {
  std::vector<TensorUser> sources;  // of each tensor
  sources.reserve(plan.tensors.size());
  for (const TensorSettings& input : ensemble.inputs) sources.push_back({ensemble, input});
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const EnsembleStep& step = plan.steps[i];
    Status fits = check_batch_size(ensemble, *models[i]);
    if (fits) fits = check_inputs_mapped(*models[i], step);
    if (!fits) return wrap(fits.error(), step_text(plan, i));
    for (const EnsembleStep::Use& output : step.outputs) {  // in the order of plan.tensors
      Result<const TensorSettings*> tensor = model_tensor(models[i]->outputs, output.name, "output");
      if (!tensor) return wrap(tensor.error(), step_text(plan, i));
      sources.push_back({*models[i], **tensor});
    }
  }
  for (size_t i = 0; i < plan.steps.size(); ++i)
    for (const EnsembleStep::Use& input : plan.steps[i].inputs) {
      Result<const TensorSettings*> tensor = model_tensor(models[i]->inputs, input.name, "input");
      if (!tensor) return wrap(tensor.error(), step_text(plan, i));
      const TensorUser& source = sources[input.tensor];
      if (!plan.tensors[input.tensor].from && source.tensor.optional && !(*tensor)->optional)
        return invalid(fmt::format("input '{}' cannot be optional: {} needs it as '{}'", source.tensor.name,
                                   step_text(plan, i), input.name));
      RIDGE_TRY(check_agreement(plan.tensors[input.tensor].name, source, {*models[i], **tensor}));
    }
  for (size_t i = 0; i < plan.outputs.size(); ++i)
    RIDGE_TRY(check_agreement(ensemble.outputs[i].name, sources[plan.outputs[i]], {ensemble, ensemble.outputs[i]}));
  return {};
}

Shape shape_for(const ModelSettings& model, const TensorSettings& tensor, const Shape& shape, bool batched) {
  if (model.batching() == batched) return shape;
  const bool fits = matches(tensor.dims, shape);
  Shape result = shape;
  if (model.batching() && fits) result.insert(result.begin(), 1);
  if (!model.batching() && !fits && !shape.empty() && shape[0] == 1) result.erase(result.begin());
  return result;
}

}  // namespace ridge::serve
