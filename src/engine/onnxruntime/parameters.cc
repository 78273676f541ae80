#include "engine/onnxruntime/parameters.h"

namespace ridge::engine::onnxruntime {

Parameters parameters(const plan::Plan& plan) {
  Parameters result;
  if (plan.threads > 0) result.emplace_back("intra_op_thread_count", std::to_string(plan.threads));
  if (plan.inter_op_threads > 1) {
    result.emplace_back("inter_op_thread_count", std::to_string(plan.inter_op_threads));
    result.emplace_back("execution_mode", "1");
  }
  if (plan.spin != plan::Spin::kDefault)
    result.emplace_back("session.intra_op.allow_spinning", plan.spin == plan::Spin::kOn ? "1" : "0");
  result.insert(result.end(), plan.options.begin(), plan.options.end());
  return result;
}

}  // namespace ridge::engine::onnxruntime
