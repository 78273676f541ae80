#include "gpu/level_zero.h"

#include <cstdlib>
#include <thread>

#include "gpu/level_zero_card.h"

namespace ridge::gpu::level_zero {
namespace {

Status start(Library& library, bool& by_sysman) {
  by_sysman = library.zesInit && library.zesDriverGet && library.zesDeviceGet;
  if (!by_sysman) setenv("ZES_ENABLE_SYSMAN", "1", 0);
  uint32_t code = by_sysman ? library.zesInit(0) : library.zeInit(0);
  if (code == kSuccess) return {};
  return Error{Code::kUnavailable, Library::error(by_sysman ? "zesInit" : "zeInit", code).message};
}

// Those that compute and are no part of a processor. A device that does not answer is kept: it may be lost.
Status find_devices(Library& library, bool by_sysman) {
  uint32_t count = 0;
  const auto& drivers_of = by_sysman ? library.zesDriverGet : library.zeDriverGet;
  const auto& devices_of = by_sysman ? library.zesDeviceGet : library.zeDeviceGet;
  uint32_t code = drivers_of(&count, nullptr);
  std::vector<Handle> drivers(count);
  if (code == kSuccess && count > 0) code = drivers_of(&count, drivers.data());
  if (code != kSuccess) return Library::error(drivers_of.name(), code);
  Reader reader(library);
  Error error;
  for (Handle driver : drivers)
    for (Handle device : list_of(reader, error, devices_of, driver)) {
      DeviceProperties properties{};
      bool told = reader.ask_of(error, library.zesDeviceGetProperties, device, &properties);
      bool card = properties.core.type == kGpu && (properties.core.flags & kIntegrated) == 0;
      if (!told || card) library.devices.push_back(device);
    }
  return {};
}

void read_system(const Library& library, CardSystem& system) {
  std::vector<Look> before;
  for (Handle device : library.devices) {
    Reader reader(library, device);
    before.push_back(look(library, reader));
  }
  if (!before.empty()) std::this_thread::sleep_for(kBetweenLooks);
  for (size_t i = 0; i < library.devices.size(); ++i) system.cards.push_back(read_card(library, i, before[i]));
  Error error;
  DeviceProperties properties{};
  for (Handle device : library.devices) {
    Reader reader(library, device);
    bool told = reader.ask(error, library.zesDeviceGetProperties, &properties);
    system.driver_version = told ? Reading<std::string>(text_of(properties.driver_version)) : error;
    if (told) break;
  }
}

}  // namespace
}  // namespace ridge::gpu::level_zero

namespace ridge::gpu {

LevelZero::LevelZero(std::unique_ptr<level_zero::Library> library) : library_(std::move(library)) {}
LevelZero::LevelZero(LevelZero&& other) noexcept = default;
LevelZero& LevelZero::operator=(LevelZero&& other) noexcept = default;
LevelZero::~LevelZero() {
  if (library_) library_->file.leak();  // drivers keep threads that outlive the handle, and there is no shut-down
}

Result<LevelZero> LevelZero::open(const std::string& library) {
  RIDGE_ASSIGN(auto table, open_table<level_zero::Library>(library, "RIDGE_LEVEL_ZERO", {"libze_loader.so.1"},
                                                           "the Level Zero loader"));
  bool by_sysman = false;
  RIDGE_TRY(level_zero::start(*table, by_sysman));
  RIDGE_TRY(level_zero::find_devices(*table, by_sysman));
  return LevelZero(std::move(table));
}

int LevelZero::count() const { return static_cast<int>(library_->devices.size()); }

CardSystem LevelZero::system() const {
  CardSystem system;
  system.library = library_->file.path();
  system.cuda_version = Error{Code::kUnsupported, "a notion of NVIDIA's"};
  system.driver_version = Error{Code::kNotFound, "there is no card to ask for its driver"};
  level_zero::read_system(*library_, system);
  return system;
}

}  // namespace ridge::gpu
