#include "serve/system_region.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "serve/shared_mapping.h"

namespace ridge::serve {
namespace {

// Prefixes that are never a client's tensors: POSIX semaphores of the C library (sem_open(3)), and the memory of
// Triton's python backend (src/common.h of triton-inference-server/server).
constexpr std::array<std::string_view, 2> kReservedNames = {"sem.", "triton_python_backend_shm_region_"};

class SystemRegion final : public Region {
 public:
  SystemRegion(const RegionRequest& request, Descriptor file, SharedMapping mapping)
      : name_(request.name),
        key_(request.key),
        offset_(request.offset),
        file_(std::move(file)),
        mapping_(std::move(mapping)) {}

  size_t size() const override { return mapping_.bytes().size(); }
  std::span<std::byte> bytes() const override { return mapping_.bytes(); }

  Status check(size_t offset, size_t size) const override {
    RIDGE_TRY(intact());
    struct stat facts {};
    if (fstat(file_.number(), &facts) != 0)
      return Error{Code::kFailed, fmt::format("shared memory region '{}': fstat: {}", name_, std::strerror(errno))};
    const uint64_t end = offset_ + offset + size;
    if (static_cast<uint64_t>(facts.st_size) >= end) return {};
    return Error{Code::kInvalid, fmt::format("shared memory region '{}': its object '{}' was truncated after it was "
                                             "registered: it has {} bytes, the tensor ends at {}",
                                             name_, key_, facts.st_size, end)};
  }

  Status read(size_t offset, std::span<std::byte> into) const override {
    if (!into.empty()) std::memcpy(into.data(), mapping_.bytes().data() + offset, into.size());
    return {};
  }
  Status write(size_t offset, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(mapping_.bytes().data() + offset, from.data(), from.size());
    return intact();
  }

  Status intact() const override {
    if (!mapping_.lost()) return {};
    return Error{Code::kInvalid,
                 fmt::format("shared memory region '{}': the memory of its object '{}' disappeared while in "
                             "use: it was truncated, or /dev/shm is full. Unregister the region and "
                             "register it again",
                             name_, key_)};
  }

 private:
  const std::string name_, key_;
  const uint64_t offset_;
  const Descriptor file_;
  const SharedMapping mapping_;
};

Result<Descriptor> open_object(const RegionRequest& request) {
  Descriptor file(shm_open(request.key.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (file) return file;
  const int cause = errno;
  std::string message = fmt::format("Unable to open shared memory region: '{}': {}", request.key, std::strerror(cause));
  if (cause == ENOENT)
    message += "; the server sees only the shared memory (/dev/shm) of its own machine and container";
  if (cause == EACCES) message += "; the server's user must be allowed to read and write it";
  return invalid(std::move(message));
}

Status check_object(const RegionRequest& request, const Descriptor& file) {
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return invalid(fmt::format("Invalid shared memory region: '{}' is not a shared memory object", request.key));
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (request.offset <= size && request.byte_size <= size - request.offset) return {};
  return invalid(
      fmt::format("failed to register shared memory region '{}': invalid args: offset {} and byte_size {} reach "
                  "beyond the {} bytes of '{}'",
                  request.name, request.offset, request.byte_size, size, request.key));
}

}  // namespace

Status check_key(const std::string& key) {
  std::string_view name = key;
  if (name.starts_with('/')) name.remove_prefix(1);
  const bool plain = !name.empty() && name != "." && name != ".." && name.size() <= NAME_MAX &&
                     name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
  if (!plain)
    return invalid(
        fmt::format("invalid shm key '{}': it should be a name of 1 to {} bytes for shm_open, with no "
                    "slash except a leading one",
                    key.substr(0, 80), NAME_MAX));
  for (std::string_view reserved : kReservedNames)
    if (name.starts_with(reserved))
      return invalid(
          fmt::format("invalid shm key '{}': names that begin with '{}' are reserved", key.substr(0, 80), reserved));
  return {};
}

Result<std::shared_ptr<Region>> open_system_region(const RegionRequest& request) {
  RIDGE_TRY(check_key(request.key));
  if (request.byte_size == 0)
    return invalid(
        fmt::format("failed to register shared memory region '{}': byte_size must be above 0", request.name));
  RIDGE_ASSIGN(Descriptor file, open_object(request));
  RIDGE_TRY(check_object(request, file));
  RIDGE_ASSIGN(SharedMapping mapping, SharedMapping::map(file.number(), request.offset, request.byte_size));
  return std::shared_ptr<Region>(std::make_shared<SystemRegion>(request, std::move(file), std::move(mapping)));
}

}  // namespace ridge::serve
