#include "engine/onnxruntime/binding.h"

#include <algorithm>
#include <utility>

namespace ridge::engine::onnxruntime {

void Binding::Tensors::clear() {
  in_names.clear();
  out_names.clear();
  in.clear();
  out.clear();
}

Result<OrtIoBinding*> Binding::binding_for(uint64_t number, OrtSession* session, const Library& library,
                                           const Tensors& tensors) {
  if (number != number_) *this = {};
  number_ = number;
  const bool complete =
      !tensors.out.empty() && std::find(tensors.out.begin(), tensors.out.end(), nullptr) == tensors.out.end();
  if (!complete || tensors != last_) {
    bound_ = false;
    if (complete)
      last_ = tensors;
    else
      last_.clear();
    return nullptr;
  }
  if (!bound_) RIDGE_TRY(bind(session, library));
  return binding_.get();
}

Status Binding::bind(OrtSession* session, const Library& library) {
  const OrtApi& api = *library.api;
  if (binding_.get() == nullptr) {
    IoBindingHandle made(api);
    RIDGE_TRY(take(api, api.CreateIoBinding(session, made.out())));
    binding_ = std::move(made);
  }
  api.ClearBoundInputs(binding_.get());
  api.ClearBoundOutputs(binding_.get());
  for (size_t i = 0; i < last_.in.size(); ++i)
    RIDGE_TRY(take(api, api.BindInput(binding_.get(), last_.in_names[i], last_.in[i])));
  for (size_t i = 0; i < last_.out.size(); ++i)
    RIDGE_TRY(take(api, api.BindOutput(binding_.get(), last_.out_names[i], last_.out[i])));
  bound_ = true;
  return {};
}

}  // namespace ridge::engine::onnxruntime
