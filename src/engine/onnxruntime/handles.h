// Move-only owners of ONNX Runtime's handles, each releasing through the OrtApi that made it.
#pragma once

#include <onnxruntime_c_api.h>

#include <utility>

namespace ridge::engine::onnxruntime {

// Release: pointer to the OrtApi member that releases T, e.g. &OrtApi::ReleaseValue.
template <typename T, auto Release>
class Handle {
 public:
  Handle() = default;  // empty
  explicit Handle(const OrtApi& api, T* raw = nullptr) : api_(&api), raw_(raw) {}
  Handle(Handle&& other) noexcept : api_(other.api_), raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (raw_ != nullptr) (api_->*Release)(raw_);
  }

  T* get() const { return raw_; }
  // For the functions that create: fill in an empty handle.
  T** out() { return &raw_; }

 private:
  const OrtApi* api_ = nullptr;
  T* raw_ = nullptr;
};

using SessionHandle = Handle<OrtSession, &OrtApi::ReleaseSession>;
using SessionOptionsHandle = Handle<OrtSessionOptions, &OrtApi::ReleaseSessionOptions>;
using RunOptionsHandle = Handle<OrtRunOptions, &OrtApi::ReleaseRunOptions>;
using ValueHandle = Handle<OrtValue, &OrtApi::ReleaseValue>;
using IoBindingHandle = Handle<OrtIoBinding, &OrtApi::ReleaseIoBinding>;
using MemoryInfoHandle = Handle<OrtMemoryInfo, &OrtApi::ReleaseMemoryInfo>;
using ArenaSettingsHandle = Handle<OrtArenaCfg, &OrtApi::ReleaseArenaCfg>;
using ThreadingOptionsHandle = Handle<OrtThreadingOptions, &OrtApi::ReleaseThreadingOptions>;
using TypeInfoHandle = Handle<OrtTypeInfo, &OrtApi::ReleaseTypeInfo>;
using TensorInfoHandle = Handle<OrtTensorTypeAndShapeInfo, &OrtApi::ReleaseTensorTypeAndShapeInfo>;

}  // namespace ridge::engine::onnxruntime
