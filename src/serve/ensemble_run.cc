#include "serve/ensemble_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.h"
#include "serve/classification.h"
#include "serve/region.h"
#include "serve/reshape.h"
#include "serve/server.h"

namespace ridge::serve {
namespace {

template <typename Named>
size_t index_by_name(const std::vector<Named>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& each) { return each.name == name; });
  return static_cast<size_t>(found - all.begin());
}

// The ensemble's own labels of an output, or those of the model that gives it.
const std::vector<std::string>& labels_of(const EnsembleParts& parts, size_t output) {
  const std::vector<std::string>& own = parts.settings.outputs[output].labels;
  if (!own.empty()) return own;
  const size_t tensor = parts.plan.outputs[output];
  const size_t step = *parts.plan.tensors[tensor].from;
  const auto& uses = parts.plan.steps[step].outputs;
  const auto use = std::find_if(uses.begin(), uses.end(), [&](const auto& each) { return each.tensor == tensor; });
  const EnsembleParts::Part& part = parts.steps[step];
  const size_t index = index_by_name(part.version->settings().outputs, use->name);
  return part.parts ? labels_of(*part.parts, index) : part.version->settings().outputs[index].labels;
}

}  // namespace

EnsembleRun::EnsembleRun(JobPtr job, PartsPtr parts, const std::atomic<bool>& aborted, Clock& clock, End end)
    : job_(std::move(job)),
      parts_(std::move(parts)),
      aborted_(aborted),
      clock_(clock),
      end_(std::move(end)),
      begun_(clock.now()),
      values_(parts_->plan.tensors.size()),
      missing_(parts_->plan.steps.size(), 0),
      needed_(parts_->plan.steps.size(), false) {}

// One more use of a tensor; a step that gives it and was not needed before joins `steps`.
void EnsembleRun::use(size_t tensor, std::vector<size_t>& steps) {
  ++values_[tensor].uses;
  const std::optional<size_t> from = parts_->plan.tensors[tensor].from;
  if (!from || needed_[*from]) return;
  needed_[*from] = true;
  steps.push_back(*from);
}

// Back from the wanted outputs: the steps to run, and how often each tensor is used.
void EnsembleRun::choose_steps() {
  const EnsemblePlan& plan = parts_->plan;
  std::vector<size_t> steps;
  if (job_->wanted.empty())
    for (const size_t tensor : plan.outputs) use(tensor, steps);
  for (const WantedOutput& output : job_->wanted) use(plan.outputs[static_cast<size_t>(output.index)], steps);
  for (size_t i = 0; i < steps.size(); ++i)
    for (const EnsembleStep::Use& input : plan.steps[steps[i]].inputs) {
      ++missing_[steps[i]];
      use(input.tensor, steps);
    }
}

void EnsembleRun::add_value(size_t tensor, RequestInput value, std::shared_ptr<const void> owner, bool batched) {
  if (values_[tensor].uses == 0) return;
  values_[tensor].tensor = std::move(value);
  values_[tensor].owner = std::move(owner);
  values_[tensor].batched = batched;
  for (const size_t step : parts_->plan.tensors[tensor].to)
    if (needed_[step] && --missing_[step] == 0) due_.push_back(step);
}

void EnsembleRun::start() {
  on_cancel_.emplace(job_->request.cancelled, [this] { stop_.request_stop(); });
  {
    MutexLock lock(mutex_);
    choose_steps();
    for (size_t i = 0; i < job_->request.inputs.size(); ++i)
      add_value(i, job_->request.inputs[i], job_->request.body, parts_->settings.batching());
  }
  advance();
}

// Begins the steps that are due. A step may end before its beginning returns; then this is called within itself, or on
// another thread meanwhile, and leaves it to the first call.
void EnsembleRun::advance() {
  bool over = false;
  {
    MutexLock lock(mutex_);
    if (std::exchange(advancing_, true)) return;
    while (!due_.empty() && !failure_) {
      const size_t step = due_.front();
      due_.pop_front();
      ++running_;
      lock.unlock();
      begin_step(step);
      lock.lock();
    }
    over = running_ == 0;
    advancing_ = over;  // after the end nothing begins
  }
  if (over) finish();
}

// Before each step: whether an answer is still of use.
Status EnsembleRun::check_wanted() const {
  if (stop_.stop_requested()) return Error{Code::kCancelled, "the client has left"};
  if (aborted_) return shutting_down();
  if (job_->request.deadline <= clock_.now())
    return Error{Code::kTimeout, "the client's deadline passed before it began"};
  return {};
}

void EnsembleRun::set_inputs(const EnsembleStep& step, const ModelSettings& model, InferRequest& request) {
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  MutexLock lock(mutex_);
  for (const EnsembleStep::Use& use : step.inputs) {
    Value& value = values_[use.tensor];
    const bool last = --value.uses == 0;
    if (value.tensor.type == DataType::kInvalid) continue;
    RequestInput& input = request.inputs.emplace_back(value.tensor);
    input.name = use.name;
    input.shape = shape_for(model, model.inputs[index_by_name(model.inputs, use.name)], input.shape, value.batched);
    owners->push_back(last ? std::move(value.owner) : value.owner);
  }
  request.body = std::move(owners);
}

void EnsembleRun::set_outputs(const EnsembleStep& step, InferRequest& request) {
  MutexLock lock(mutex_);
  for (const EnsembleStep::Use& use : step.outputs)
    if (values_[use.tensor].uses > 0) request.outputs.push_back({use.name, 0, std::nullopt});
}

void EnsembleRun::begin_step(size_t index) {
  if (Status wanted = check_wanted(); !wanted) return end_step(index, std::move(wanted).error());
  const EnsembleStep& step = parts_->plan.steps[index];
  const EnsembleParts::Part& part = parts_->steps[index];
  const InferRequest& whole = job_->request;
  InferRequest request;
  request.model = step.model;
  request.version = part.version->settings().version;
  request.id = whole.id;
  set_inputs(step, part.version->settings(), request);
  set_outputs(step, request);
  request.arrived = clock_.now();
  if (whole.timeout) request.timeout = std::max(Nanoseconds(1), *whole.timeout - (request.arrived - begun_));
  request.priority = whole.priority;
  request.cancelled = stop_.get_token();
  request.deadline = whole.deadline;
  request.sequence = whole.sequence;
  request.parts = part.parts;
  part.version->offers.tensors->infer(
      std::move(request),
      [run = shared_from_this(), index](Result<InferResponse> answer) { run->end_step(index, std::move(answer)); });
}

Status EnsembleRun::add_outputs(size_t index, InferResponse& answer) {
  const bool batched = parts_->steps[index].version->settings().batching();
  for (const EnsembleStep::Use& use : parts_->plan.steps[index].outputs) {
    if (values_[use.tensor].uses == 0) continue;
    const size_t at = index_by_name(answer.outputs, use.name);
    if (at == answer.outputs.size()) return Error{Code::kFailed, fmt::format("it gave no output '{}'", use.name)};
    ResponseOutput& output = answer.outputs[at];
    add_value(use.tensor, {use.name, output.type, std::move(output.shape), output.data}, std::move(output.owner),
              batched);
  }
  return {};
}

void EnsembleRun::fail(size_t step, Error error) {
  if (failure_) return;
  failure_ =
      wrap(std::move(error), fmt::format("ensemble '{}', {}", parts_->settings.name, step_text(parts_->plan, step)));
}

void EnsembleRun::end_step(size_t step, Result<InferResponse> answer) {
  bool first_failure = false;
  {
    MutexLock lock(mutex_);
    --running_;
    const bool failed = failure_.has_value();
    if (answer) {
      times_.input += answer->times.input;
      times_.infer += answer->times.infer;
      times_.output += answer->times.output;
    }
    Status added = answer ? add_outputs(step, *answer) : Status(answer.error());
    if (!added) fail(step, std::move(added).error());
    first_failure = failure_ && !failed && running_ > 0;
  }
  if (first_failure) drop_others();
  advance();
}

// No run is spent on the other branches of a request that has failed.
void EnsembleRun::drop_others() {
  stop_.request_stop();
  for (const EnsembleParts::Part& part : parts_->steps) part.version->offers.tensors->drop_cancelled();
}

void EnsembleRun::finish() {
  on_cancel_.reset();
  Result<InferResponse> result = Error{Code::kExhausted, "not enough memory for the answer"};
  try {
    result = answer();
  } catch (const std::bad_alloc&) {
    log::error("ensemble '{}': {}", parts_->settings.name, result.error().message);
  }
  {
    MutexLock lock(mutex_);
    values_.clear();  // with the answer, clients may free their regions
  }
  end_(std::move(job_), std::move(result));
}

Result<ResponseOutput> EnsembleRun::output(const WantedOutput& wanted) {
  const auto index = static_cast<size_t>(wanted.index);
  const ModelSettings& settings = parts_->settings;
  const TensorSettings& tensor = settings.outputs[index];
  ResponseOutput output;
  {
    MutexLock lock(mutex_);
    Value& value = values_[parts_->plan.outputs[index]];
    output = {tensor.name, value.tensor.type, shape_for(settings, tensor, value.tensor.shape, value.batched),
              value.tensor.data, std::move(value.owner)};
  }
  const std::span<const int64_t> shape = output.shape;
  const size_t lead = settings.batching() ? 1 : 0;
  if (shape.size() < lead || !matches(tensor.dims, shape.subspan(lead)) || (lead > 0 && shape[0] != job_->rows))
    return Error{Code::kFailed,
                 fmt::format("ensemble '{}' gave output '{}' with shape {}; its configuration has dims {}{}",
                             settings.name, tensor.name, shape_text(output.shape), shape_text(tensor.dims),
                             lead > 0 ? fmt::format(" for each of {} rows", job_->rows) : "")};
  if (wanted.classification > 0)
    output = top_classes(std::move(output), wanted.classification, labels_of(*parts_, index), settings.batching());
  if (wanted.part) RIDGE_TRY(write_to_region(output, *wanted.part));
  return output;
}

Result<InferResponse> EnsembleRun::answer() {
  InferResponse answer{parts_->settings.name, parts_->settings.version, std::move(job_->request.id), {}};
  {
    MutexLock lock(mutex_);
    if (failure_) return *failure_;
    answer.times = times_;
  }
  std::vector<WantedOutput> all;
  if (job_->wanted.empty())
    for (size_t i = 0; i < parts_->settings.outputs.size(); ++i) all.push_back({static_cast<int>(i)});
  for (const WantedOutput& wanted : job_->wanted.empty() ? all : job_->wanted) {
    RIDGE_ASSIGN(ResponseOutput output, this->output(wanted));
    answer.outputs.push_back(std::move(output));
  }
  return answer;
}

}  // namespace ridge::serve
