#include "engine/engine.h"

#include "engine/fake/fake_session.h"
#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/session.h"
#include "engine/openvino/library.h"

namespace ridge::engine {
namespace {

Error unknown_engine(const plan::Plan& plan) {
  return {Code::kUnsupported,
          "there is no engine '" + plan.engine + "'; the engines are onnxruntime, openvino and fake"};
}

}  // namespace

Result<std::unique_ptr<Session>> open(const plan::Plan& plan, Clock& clock) {
  if (plan.engine == "onnxruntime") return onnxruntime::open_session(plan);
  if (plan.engine == "openvino") return openvino::open_session(plan);
  if (plan.engine == "fake") return fake::open_session(plan, clock);
  return unknown_engine(plan);
}

Result<Info> find_engine(const plan::Plan& plan) {
  if (plan.engine == "onnxruntime") return onnxruntime::find_library(plan);
  if (plan.engine == "openvino") return openvino::find_library(plan);
  if (plan.engine == "fake") return fake::engine_info();
  return unknown_engine(plan);
}

}  // namespace ridge::engine
