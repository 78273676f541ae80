#include "serve/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace ridge::serve {
namespace {

bool is_none(const SequenceId& id) {
  const auto* number = std::get_if<uint64_t>(&id);
  return number != nullptr ? *number == 0 : std::get<std::string>(id).empty();
}

// Checks that the control input for the id can hold it.
Status check_id(const SequenceControl& control, const Job& job) {
  if (control.kind != SequenceControl::Kind::kId || control.type == DataType::kBytes) return {};
  const auto* number = std::get_if<uint64_t>(&job.request.sequence.id);
  uint64_t most = std::numeric_limits<uint64_t>::max();
  if (control.type == DataType::kInt64) most = std::numeric_limits<int64_t>::max();
  if (control.type == DataType::kUint32) most = std::numeric_limits<uint32_t>::max();
  if (control.type == DataType::kInt32) most = std::numeric_limits<int32_t>::max();
  if (number != nullptr && *number <= most) return {};
  return invalid(fmt::format("sequence id {} does not fit model '{}', whose CONTROL_SEQUENCE_CORRID input is {}",
                             sequence_text(job.request.sequence.id), job.request.model, data_type_name(control.type)));
}

}  // namespace

std::string sequence_text(const SequenceId& id) {
  if (const auto* number = std::get_if<uint64_t>(&id)) return std::to_string(*number);
  return "'" + std::get<std::string>(id).substr(0, 200) + "'";
}

Sequences::Sequences(SequenceSettings settings, size_t instances, size_t size_limit)
    : settings_(std::move(settings)),
      instances_(instances),
      size_limit_(size_limit),
      slots_(settings_.slots * instances) {}

Status Sequences::check(const Job& job) const {
  const InferRequest& request = job.request;
  if (closed_) return Error{Code::kUnavailable, "model '" + request.model + "' is being unloaded"};
  if (is_none(request.sequence.id))
    return invalid(
        fmt::format("inference request to model '{}' must specify a non-zero or non-empty correlation ID "
                    "(parameter 'sequence_id')",
                    request.model));
  if (job.rows > 1)
    return invalid(fmt::format(
        "inference request to model '{}' must specify batch-size 1 due to requirements of sequence batcher, found {}",
        request.model, job.rows));
  if (!request.sequence.start && !open_.contains(request.sequence.id))
    return invalid(
        fmt::format("inference request for sequence {} to model '{}' must specify the START flag on the "
                    "first request of the sequence",
                    sequence_text(request.sequence.id), request.model));
  for (const SequenceControl& control : settings_.controls) RIDGE_TRY(check_id(control, job));
  if (waiting_ < size_limit_) return {};
  return Error{Code::kUnavailable, fmt::format("the queue of model '{}' is full ({} requests wait): Exceeds maximum "
                                               "queue size",
                                               request.model, size_limit_)};
}

void Sequences::seat(std::unique_ptr<Sequence> sequence, size_t instance, size_t slot) {
  sequence->instance = instance;
  sequence->slot = slot;
  slots_[slot * instances_ + instance] = std::move(sequence);
}

// The lowest free slot, so that batches by slot are short; the first instance's, so that they share sequences.
Sequence& Sequences::sequence_of(const SequencePart& part) {
  if (const auto known = open_.find(part.id); known != open_.end()) return *known->second;
  auto fresh = std::make_unique<Sequence>();
  Sequence& sequence = *fresh;
  sequence.id = part.id;
  open_[part.id] = &sequence;
  const auto free = std::find(slots_.begin(), slots_.end(), nullptr);
  if (free == slots_.end()) {
    backlog_.push_back(std::move(fresh));
    return sequence;
  }
  const auto at = static_cast<size_t>(free - slots_.begin());
  seat(std::move(fresh), at % instances_, at / instances_);
  return sequence;
}

void Sequences::call_at(TimePoint when, Due& due) {
  if (when >= alarm_) return;
  alarm_ = due.expire = when;
}

std::optional<Rejection> Sequences::add(JobPtr job, TimePoint now, Due& due) {
  MutexLock lock(mutex_);
  if (Status fits = check(*job); !fits) {
    const bool full = fits.error().code == Code::kUnavailable && !closed_;
    return Rejection{std::move(job), std::move(fits).error(),
                     full ? FailureReason::kQueueFull : FailureReason::kRejected};
  }
  Sequence& sequence = sequence_of(job->request.sequence);
  job->sequence = &sequence;
  job->queued = sequence.last = now;
  if (job->request.sequence.end) shut(sequence);
  call_at(std::min(job->request.deadline, now + settings_.max_idle), due);
  sequence.line.push_back(std::move(job));
  ++waiting_;
  advance(sequence, due);
  return std::nullopt;
}

void Sequences::shut(Sequence& sequence) {
  if (!sequence.closed) open_.erase(sequence.id);
  sequence.closed = true;
}

// Hands out its next request, or frees its slot. The sequence may be gone afterwards.
void Sequences::advance(Sequence& sequence, Due& due) {
  if (!sequence.slot || sequence.busy) return;
  if (sequence.line.empty()) {
    if (closed_) shut(sequence);
    if (sequence.closed) free_slot(sequence, due);
    return;
  }
  JobPtr job = std::move(sequence.line.front());
  sequence.line.pop_front();
  --waiting_;
  if (job->request.sequence.start) sequence.states.clear();
  sequence.busy = true;
  due.run.push_back(std::move(job));
}

void Sequences::free_slot(const Sequence& sequence, Due& due) {
  const size_t instance = sequence.instance, slot = *sequence.slot;
  slots_[slot * instances_ + instance].reset();
  if (backlog_.empty()) return;
  Sequence& next = *backlog_.front();
  seat(std::move(backlog_.front()), instance, slot);
  backlog_.pop_front();
  advance(next, due);  // it has requests: that is why it waited
}

// Takes unwanted requests from its line, and those behind them up to the next START. `losing`: from the first one on.
void Sequences::cut(Sequence& sequence, bool losing, const std::function<bool(const Job&)>& unwanted, Due& due) {
  std::deque<JobPtr> kept;
  for (JobPtr& job : sequence.line) {
    if (job->request.sequence.start) losing = false;
    const bool goes = unwanted(*job);
    losing = losing || goes;
    if (losing) job->sequence = nullptr;
    waiting_ -= losing ? 1 : 0;
    if (goes)
      due.unwanted.push_back(std::move(job));
    else if (losing)
      due.lost.push_back(std::move(job));
    else
      kept.push_back(std::move(job));
  }
  sequence.line = std::move(kept);
  if (losing) shut(sequence);
}

void Sequences::end(Sequence& sequence, bool ran, TimePoint now, Due& due) {
  MutexLock lock(mutex_);
  sequence.busy = false;
  sequence.last = now;
  if (!ran) cut(sequence, true, [](const Job&) { return false; }, due);
  call_at(now + settings_.max_idle, due);
  advance(sequence, due);
}

std::vector<Sequence*> Sequences::seated() const {
  std::vector<Sequence*> sequences;
  for (const auto& sequence : slots_)
    if (sequence) sequences.push_back(sequence.get());
  return sequences;
}

void Sequences::filter(const std::function<bool(const Job&)>& unwanted, Due& due) {
  for (const auto& sequence : backlog_) cut(*sequence, false, unwanted, due);
  std::erase_if(backlog_, [](const auto& sequence) { return sequence->line.empty(); });
  for (Sequence* sequence : seated()) {
    cut(*sequence, false, unwanted, due);
    advance(*sequence, due);
  }
}

void Sequences::remove(const std::function<bool(const Job&)>& unwanted, Due& due) {
  MutexLock lock(mutex_);
  filter(unwanted, due);
}

void Sequences::expire(TimePoint now, Due& due) {
  MutexLock lock(mutex_);
  if (now < alarm_) return;  // an earlier call has done it, and requested the next one
  filter([now](const Job& job) { return job.request.deadline <= now; }, due);
  for (Sequence* sequence : seated()) {
    if (sequence->busy || now < sequence->last + settings_.max_idle) continue;
    shut(*sequence);
    advance(*sequence, due);
  }
  alarm_ = TimePoint::max();
  for (const Sequence* sequence : seated()) {
    if (!sequence->busy) call_at(sequence->last + settings_.max_idle, due);
    for (const JobPtr& job : sequence->line) call_at(job->request.deadline, due);
  }
  for (const auto& sequence : backlog_)
    for (const JobPtr& job : sequence->line) call_at(job->request.deadline, due);
}

void Sequences::close(Due& due) {
  MutexLock lock(mutex_);
  closed_ = true;
  for (Sequence* sequence : seated()) advance(*sequence, due);
}

bool Sequences::drained() const {
  MutexLock lock(mutex_);
  return closed_ && std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) { return slot == nullptr; });
}

bool Sequences::is_open(const SequenceId& id) const {
  MutexLock lock(mutex_);
  return open_.contains(id);
}

size_t Sequences::open() const {
  MutexLock lock(mutex_);
  return seated().size() + backlog_.size();
}

size_t Sequences::waiting() const {
  MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace ridge::serve
