#include "gpu/level_zero.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "gpu/level_zero_card.h"
#include "gpu/open_library.h"

namespace ridge::gpu {

using namespace level_zero;

namespace {

constexpr std::chrono::milliseconds kBetweenLooks(100);

Status find_functions(Library& library) {
#define RIDGE_FIND(name, ...)                                                                                   \
  {                                                                                                             \
    auto found = library.file.symbol<__VA_ARGS__>(#name);                                                       \
    if (!found)                                                                                                 \
      return Error{Code::kUnsupported, found.error().message + "; the Level Zero loader is too old for ridge"}; \
    library.name = *found;                                                                                      \
  }
  RIDGE_LEVEL_ZERO_REQUIRED(RIDGE_FIND)
#undef RIDGE_FIND
#define RIDGE_FIND(name, ...) \
  if (auto found = library.file.symbol<__VA_ARGS__>(#name)) library.name = *found;
  RIDGE_LEVEL_ZERO_OPTIONAL(RIDGE_FIND)
#undef RIDGE_FIND
  return {};
}

Status start(Library& library, bool& by_sysman) {
  by_sysman = library.zesInit && library.zesDriverGet && library.zesDeviceGet;
  if (!by_sysman) setenv("ZES_ENABLE_SYSMAN", "1", 0);
  uint32_t code = by_sysman ? library.zesInit(0) : library.zeInit(0);
  if (code == kSuccess) return {};
  return Error{Code::kUnavailable, error_of(by_sysman ? "zesInit" : "zeInit", code).message};
}

// Those that compute and are no part of a processor. A device that does not answer is kept: it may be lost.
Status find_devices(Library& library, bool by_sysman) {
  uint32_t count = 0;
  auto* drivers_of = by_sysman ? library.zesDriverGet : library.zeDriverGet;
  auto* devices_of = by_sysman ? library.zesDeviceGet : library.zeDeviceGet;
  uint32_t code = drivers_of(&count, nullptr);
  std::vector<Handle> drivers(count);
  if (code == kSuccess && count > 0) code = drivers_of(&count, drivers.data());
  if (code != kSuccess) return error_of(by_sysman ? "zesDriverGet" : "zeDriverGet", code);
  CardReader reader;
  Error error;
  for (Handle driver : drivers)
    for (Handle device : reader.list(error, "zesDeviceGet", devices_of, driver)) {
      DeviceProperties properties{};
      bool told = reader.ask(error, RIDGE_ZES(zesDeviceGetProperties), device, &properties);
      bool card = properties.core.type == kGpu && (properties.core.flags & kIntegrated) == 0;
      if (!told || card) library.devices.push_back(device);
    }
  return {};
}

}  // namespace

LevelZero::LevelZero(std::unique_ptr<level_zero::Library> library) : library_(std::move(library)) {}
LevelZero::LevelZero(LevelZero&& other) noexcept = default;
LevelZero& LevelZero::operator=(LevelZero&& other) noexcept = default;
LevelZero::~LevelZero() {
  if (library_) library_->file.leak();  // drivers keep threads that outlive the handle, and there is no shut-down
}

Result<LevelZero> LevelZero::open(const std::string& library) {
  RIDGE_ASSIGN(DynamicLibrary file, open_library(library, "RIDGE_LEVEL_ZERO", {"libze_loader.so.1"}));
  auto table = std::make_unique<Library>(std::move(file));
  RIDGE_TRY(find_functions(*table));
  bool by_sysman = false;
  RIDGE_TRY(start(*table, by_sysman));
  RIDGE_TRY(find_devices(*table, by_sysman));
  return LevelZero(std::move(table));
}

int LevelZero::count() const { return static_cast<int>(library_->devices.size()); }

CardSystem LevelZero::system() const {
  const Library& library = *library_;
  CardSystem system;
  system.library = library.file.path();
  system.cuda_version = Error{Code::kUnsupported, "a notion of NVIDIA's"};
  system.driver_version = Error{Code::kNotFound, "there is no card to ask for its driver"};
  CardReader reader;
  std::vector<Look> before;
  for (Handle device : library.devices) before.push_back(look(library, reader, device));
  if (!before.empty()) std::this_thread::sleep_for(kBetweenLooks);
  for (size_t i = 0; i < library.devices.size(); ++i) system.cards.push_back(read_card(library, i, before[i]));
  Error error;
  DeviceProperties properties{};
  for (Handle device : library.devices) {
    bool told = reader.ask(error, RIDGE_ZES(zesDeviceGetProperties), device, &properties);
    system.driver_version = told ? Reading<std::string>(text_of(properties.driver_version)) : error;
    if (told) break;
  }
  return system;
}

}  // namespace ridge::gpu
