#include "measure/runner.h"

#include <numeric>

#include "engine/run_limit.h"
#include "measure/inputs.h"
#include "measure/non_finite.h"
#include "measure/resident.h"
#include "model/inputs.h"

namespace ridge::measure {

Result<Runner> Runner::open(const plan::Plan& plan, const model::Graph* graph, int callers, uint64_t seed, Clock& clock,
                            double seconds) {
  const int64_t resident_before = resident_bytes();
  Runner runner;
  for (int i = 0; i < plan.instances; ++i) {
    RIDGE_ASSIGN(std::unique_ptr<engine::Session> session, engine::open_for(seconds, plan, clock));
    runner.sessions_.push_back(std::move(session));
  }
  runner.load_ms_ = to_ms(runner.sessions_.front()->info().load_time);
  const engine::Signature& signature = runner.sessions_.front()->signature();
  RIDGE_ASSIGN(runner.inputs_, make_inputs(signature, plan.shapes, graph, seed));
  for (const Tensor& tensor : runner.inputs_) runner.views_.push_back(tensor.view());
  if (!runner.inputs_.empty()) {
    const Shape& first = runner.inputs_.front().shape;
    if (graph != nullptr)
      runner.rows_ = model::rows_of(*graph, first);
    else if (!first.empty())
      runner.rows_ = first.front();
  }
  runner.wanted_.resize(signature.outputs.size());
  std::iota(runner.wanted_.begin(), runner.wanted_.end(), 0);
  RIDGE_TRY(runner.run_first(callers, clock));
  runner.rss_delta_bytes_ = resident_bytes() - resident_before;
  return runner;
}

std::map<std::string, Shape> Runner::shapes() const {
  std::map<std::string, Shape> shapes;
  const std::vector<TensorSpec>& inputs = sessions_.front()->signature().inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) shapes[inputs[i].name] = inputs_[i].shape;
  return shapes;
}

Status Runner::run_first(int callers, const Clock& clock) {
  std::vector<engine::Output> shown;
  for (size_t i = 0; i < sessions_.size(); ++i) {
    std::vector<engine::Output> outputs(wanted_.size());
    const TimePoint begin = clock.now();
    RIDGE_TRY(sessions_[i]->run(views_, wanted_, outputs));
    if (i > 0) continue;
    first_run_ms_ = to_ms(clock.now() - begin);
    non_finite_ = non_finite_text(sessions_[i]->signature().outputs, outputs);
    shown = std::move(outputs);
  }
  slots_.resize(static_cast<size_t>(callers));
  for (Slot& slot : slots_) {
    for (const engine::Output& output : shown) {
      bool in_place = output.type != DataType::kBytes && !output.data.empty();
      Buffer& memory = slot.memory.emplace_back(in_place ? output.data.size() : 0);
      slot.in_place.push_back(in_place);
      slot.outputs.push_back({output.type, output.shape, in_place ? memory.span() : std::span<std::byte>(), nullptr});
    }
  }
  return {};
}

Status Runner::run(int caller, engine::RunTimes* times) {
  Slot& slot = slots_[static_cast<size_t>(caller)];
  for (size_t i = 0; i < slot.outputs.size(); ++i)
    if (!slot.in_place[i]) slot.outputs[i] = {};
  return sessions_[static_cast<size_t>(caller) % sessions_.size()]->run(views_, wanted_, slot.outputs, times);
}

}  // namespace ridge::measure
