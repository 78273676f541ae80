// One of Intel's cards, read through the open Level Zero loader. Private to level_zero.cc.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/dynlib.h"
#include "gpu/card.h"
#include "gpu/level_zero_abi.h"

namespace ridge::gpu::level_zero {

// What was found in the loader (nullptr = it lacks it), and the devices.
struct Library {
  explicit Library(DynamicLibrary opened) : file(std::move(opened)) {}
  DynamicLibrary file;
  std::vector<Handle> devices;
#define RIDGE_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  RIDGE_LEVEL_ZERO_REQUIRED(RIDGE_MEMBER)
  RIDGE_LEVEL_ZERO_OPTIONAL(RIDGE_MEMBER)
#undef RIDGE_MEMBER
};

// What a result code means, for people.
Error error_of(const char* function, uint32_t code);

// Asks one card and remembers if it is the card itself that is gone.
class CardReader {
 public:
  // Fills in what the last arguments point to and says whether that went well; `error` is set otherwise.
  template <typename Function, typename... Arguments>
  bool ask(Error& error, const char* name, Function* function, Handle handle, Arguments... arguments) {
    uint32_t code = kFunctionNotFound;
    if (function != nullptr) code = function(handle, arguments...);
    if (code == kSuccess) return true;
    error = error_of(name, code);
    bool gone = code == kDeviceLost || code == kRequiresReset || code == kSurvivabilityMode;
    if (gone && failure_.empty()) failure_ = error.message;
    return false;
  }
  // Handles of the domains of a device; none where there are none, `error` says why.
  template <typename Function>
  std::vector<Handle> list(Error& error, const char* name, Function* function, Handle device) {
    uint32_t count = 0;
    if (!ask(error, name, function, device, &count, static_cast<Handle*>(nullptr))) return {};
    std::vector<Handle> handles(count);
    if (count == 0) error = {Code::kUnsupported, fmt::format("{}: this card has none", name)};
    if (count == 0 || !ask(error, name, function, device, &count, handles.data())) return {};
    handles.resize(std::min<size_t>(count, handles.size()));
    return handles;
  }
  void fail(const std::string& reason) {
    if (failure_.empty()) failure_ = reason;
  }
  const std::string& failure() const { return failure_; }

 private:
  std::string failure_;
};

// The name of a function beside its pointer.
#define RIDGE_ZES(function) #function, library.function

// Counters whose growth tells power and use.
struct Look {
  Error power_error{Code::kUnsupported, "not asked"};
  Error use_error{Code::kUnsupported, "not asked"};
  bool power_told = false, use_told = false;
  EnergyCounter energy{};
  EngineActivity engines{};
};

Look look(const Library& library, CardReader& reader, Handle device);

// The `index`th device of the library; `before`: a look at it some milliseconds ago.
Card read_card(const Library& library, size_t index, const Look& before);

template <size_t size>
std::string text_of(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

}  // namespace ridge::gpu::level_zero
