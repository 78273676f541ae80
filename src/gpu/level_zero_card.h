// One of Intel's cards, read through the open Level Zero loader. Private to level_zero.cc.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/card.h"
#include "gpu/card_reader.h"
#include "gpu/level_zero_abi.h"
#include "gpu/library_function.h"

namespace ridge::gpu::level_zero {

// The functions of the loader, and the devices.
struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
  std::vector<Handle> devices;
#define RIDGE_MEMBER(name, ...) Function<__VA_ARGS__> name{file, #name, complete};
  RIDGE_LEVEL_ZERO_REQUIRED(RIDGE_MEMBER)
#undef RIDGE_MEMBER
#define RIDGE_MEMBER(name, ...) Function<__VA_ARGS__> name{file, #name};
  RIDGE_LEVEL_ZERO_OPTIONAL(RIDGE_MEMBER)
#undef RIDGE_MEMBER

  using CardHandle = Handle;
  using StatusCode = uint32_t;
  static constexpr uint32_t kOk = kSuccess, kAbsent = kFunctionNotFound;
  static bool broken(uint32_t code) {
    return code == kDeviceLost || code == kRequiresReset || code == kSurvivabilityMode;
  }
  static Error error(const char* function, uint32_t code);
};

using Reader = CardReader<Library>;

// Handles of what belongs to another handle, such as the domains of a device; none where there are none, `error` says
// why.
template <typename Signature>
std::vector<Handle> list_of(Reader& reader, Error& error, const LibraryFunction<Signature>& function, Handle owner) {
  uint32_t count = 0;
  if (!reader.ask_of(error, function, owner, &count, static_cast<Handle*>(nullptr))) return {};
  std::vector<Handle> handles(count);
  if (count == 0) error = {Code::kUnsupported, fmt::format("{}: this card has none", function.name())};
  if (count == 0 || !reader.ask_of(error, function, owner, &count, handles.data())) return {};
  handles.resize(std::min<size_t>(count, handles.size()));
  return handles;
}

// Counters whose growth tells power and use.
struct Look {
  Error power_error{Code::kUnsupported, "not asked"};
  Error use_error{Code::kUnsupported, "not asked"};
  bool power_told = false, use_told = false;
  EnergyCounter energy{};
  EngineActivity engines{};
};

// Of the reader's card.
Look look(const Library& library, Reader& reader);

// The `index`th device of the library; `before`: a look at it some milliseconds ago.
Card read_card(const Library& library, size_t index, const Look& before);

template <size_t size>
std::string text_of(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

}  // namespace ridge::gpu::level_zero
