#include "engine/fake/fake_session.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <vector>

#include "base/mutex.h"
#include "engine/fake/script.h"

namespace ridge::engine::fake {
namespace {

void wait_until(Clock& clock, TimePoint end, bool spin) {
  if (!spin) return clock.sleep_until(end);
  while (clock.now() < end) {
  }
}

Nanoseconds from_ms(double ms) { return from_seconds(ms / 1000); }

// Writes `value` as `type` at every element.
void fill(DataType type, double value, std::span<std::byte> data) {
  auto write = [&](auto typed) {
    for (size_t at = 0; at + sizeof typed <= data.size(); at += sizeof typed)
      std::memcpy(data.data() + at, &typed, sizeof typed);
  };
  switch (type) {
    case DataType::kFp32: return write(static_cast<float>(value));
    case DataType::kFp64: return write(value);
    case DataType::kInt64: return write(static_cast<int64_t>(value));
    case DataType::kInt32: return write(static_cast<int32_t>(value));
    default: std::memset(data.data(), static_cast<int>(value), data.size());  // bytes; BYTES of 0: empty strings
  }
}

// The machine shared by scripted sessions whose script has "CPUs": like a real one it belongs to the process.
class SharedMachine {
 public:
  // A run on that many threads begins: its slowdown, from the runs in progress at that moment.
  double begin(const Script& script, int threads) {
    MutexLock lock(mutex_);
    const double crowd = static_cast<double>(busy_ += threads) / script.cpus;
    return std::max(1.0, crowd) * (1 + script.interference * runs_++);
  }
  void end(int threads) {
    MutexLock lock(mutex_);
    busy_ -= threads;
    --runs_;
  }

 private:
  Mutex mutex_;
  int busy_ RIDGE_GUARDED_BY(mutex_) = 0;  // threads of the runs in progress
  int runs_ RIDGE_GUARDED_BY(mutex_) = 0;
};
SharedMachine& shared_machine() {
  static SharedMachine machine;
  return machine;
}

class FakeSession final : public Session {
 public:
  FakeSession(Script script, Info info, int threads, Clock& clock)
      : script_(std::move(script)),
        info_(std::move(info)),
        threads_(threads),
        clock_(clock),
        free_from_(static_cast<size_t>(std::max(script_.parallel, 0))) {}

  const Signature& signature() const override { return script_.signature; }
  const Info& info() const override { return info_; }

  Status run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<Output> outputs,
             RunTimes* times) override {
    const TimePoint begin = clock_.now();
    const int64_t number = ++runs_;
    RIDGE_TRY(check(inputs));
    const int64_t rows = inputs.empty() || inputs[0].shape.empty() ? 1 : inputs[0].shape[0];
    const Nanoseconds alone = from_ms(latency_ms(script_, number, rows, threads_));
    const TimePoint started = wait_for_place(begin, alone);
    work(started, alone);
    if (script_.fail_runs.contains(number))
      return Error{Code::kFailed, "the fake engine fails run " + std::to_string(number) + " as its script says"};
    const TimePoint computed = clock_.now();
    for (size_t i = 0; i < wanted.size(); ++i)
      RIDGE_TRY(answer(inputs, static_cast<size_t>(wanted[i]), rows, outputs[i]));
    if (times) *times = {started - begin, computed - started, clock_.now() - computed};
    return {};
  }

  // One node, of the scripted mean latency at one row.
  Result<std::vector<NodeTime>> take_profile(int skip_runs) override {
    const int64_t runs = runs_.load() - skip_runs;
    if (runs <= 0) return Error{Code::kInvalid, "the fake engine has no run to profile"};
    NodeTime node;
    node.name = "fake";
    node.op = "Fake";
    node.provider = "fake";
    node.mean_us = 1000 * latency_ms(script_, 0, 1, threads_);
    node.runs = node.calls = static_cast<int>(runs);
    return std::vector<NodeTime>{node};
  }

 private:
  void work(TimePoint started, Nanoseconds alone) {
    const bool shared = script_.cpus > 0;
    const double longer = shared ? shared_machine().begin(script_, threads_) : 1;
    if (alone.count() > 0) wait_until(clock_, started + from_seconds(longer * to_seconds(alone)), script_.spin);
    if (shared) shared_machine().end(threads_);
  }

  Status check(std::span<const TensorView> inputs) const {
    assert(inputs.size() == script_.signature.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorSpec& spec = script_.signature.inputs[i];
      if (inputs[i].type != spec.type)
        return Error{Code::kInvalid, "tensor '" + spec.name + "' is " + std::string(data_type_name(inputs[i].type)) +
                                         ", the model's is " + std::string(data_type_name(spec.type))};
    }
    return {};
  }

  Status answer(std::span<const TensorView> inputs, size_t index, int64_t rows, Output& output) const {
    const TensorSpec& spec = script_.signature.outputs[index];
    const TensorView* source = script_.echo && !inputs.empty() ? &inputs[std::min(index, inputs.size() - 1)] : nullptr;
    if (source != nullptr && source->type != spec.type) source = nullptr;
    Shape shape = source ? source->shape : spec.shape;
    for (int64_t& dimension : shape)
      if (dimension < 0) dimension = rows;
    size_t elements = static_cast<size_t>(element_count(shape).value_or(0));
    size_t bytes =
        source ? source->data.size() : elements * (spec.type == DataType::kBytes ? 4 : data_type_size(spec.type));
    if (output.data.empty()) {
      auto owner = std::make_shared<Buffer>(bytes);
      output.data = owner->span();
      output.owner = std::move(owner);
    } else if (output.data.size() != bytes) {
      return Error{Code::kInvalid, "output '" + spec.name + "' needs " + std::to_string(bytes) + " bytes, given " +
                                       std::to_string(output.data.size())};
    }
    output.type = spec.type;
    output.shape = std::move(shape);
    if (source != nullptr) {
      if (bytes > 0) std::memcpy(output.data.data(), source->data.data(), bytes);
    } else {
      fill(spec.type, script_.value, output.data);
    }
    return {};
  }

  // When the run starts: at once, or when the first of the earlier ones ends.
  TimePoint wait_for_place(TimePoint arrived, Nanoseconds takes) {
    if (script_.parallel <= 0) return arrived;
    TimePoint start;
    {
      MutexLock lock(mutex_);
      TimePoint& place = *std::min_element(free_from_.begin(), free_from_.end());
      start = std::max(arrived, place);
      place = start + takes;
    }
    if (start > arrived) clock_.sleep_until(start);
    return start;
  }

  const Script script_;
  const Info info_;
  const int threads_;
  Clock& clock_;
  std::atomic<int64_t> runs_ = 0;
  Mutex mutex_;
  std::vector<TimePoint> free_from_
      RIDGE_GUARDED_BY(mutex_);  // a slot for each run that may make progress, if script_.parallel limits them
};

}  // namespace

Info engine_info() { return {"fake", "1", "built in", "cpu", Nanoseconds(0), 1}; }

Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan, Clock& clock) {
  const TimePoint begin = clock.now();
  RIDGE_ASSIGN(Script script, read_script(plan));
  if (!script.devices.contains(plan.device))
    return Error{Code::kUnsupported, "device '" + plan.device + "' is not one that the script has"};
  wait_until(clock, begin + from_ms(script.load_ms), script.spin);
  if (!script.fail_load.empty()) return Error{Code::kFailed, script.fail_load};
  Info info = engine_info();
  info.load_time = clock.now() - begin;
  info.device = plan.device;
  info.threads = plan.threads > 0 ? plan.threads : 1;
  const int threads = info.threads;
  return std::unique_ptr<Session>(std::make_unique<FakeSession>(std::move(script), std::move(info), threads, clock));
}

}  // namespace ridge::engine::fake
