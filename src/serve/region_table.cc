#include "serve/region_table.h"

#include <fmt/format.h>

#include <iterator>

#include "serve/system_region.h"

namespace ridge::serve {
namespace {

const char* kind_name(RegionKind kind) { return kind == RegionKind::kCuda ? "cuda" : "system"; }

Error taken(const std::string& name) {
  return invalid(
      fmt::format("shared memory region '{}' already in manager: unregister it first, or choose another name", name));
}

// The request's own copy of a BYTES tensor.
Status take_strings(InferRequest& request, RequestInput& input) {
  auto own = std::make_shared<std::pair<Buffer, std::shared_ptr<const void>>>(size_of(input), request.body);
  RIDGE_TRY(take_over(input, own->first.span()));
  request.body = std::move(own);
  return {};
}

Status bind_input(InferRequest& request, RequestInput& input) {
  if (input.type == DataType::kBytes) return take_strings(request, input);
  std::span<std::byte> bytes = input.part->memory->bytes();
  if (!bytes.empty()) input.data = bytes.subspan(input.part->offset, input.part->byte_size);
  return {};
}

}  // namespace

Status RegionTable::add(RegionRequest request) {
  if (request.name.empty()) return invalid("'region name' is necessary to register a shared memory region");
  {
    MutexLock lock(mutex_);
    if (entries_.contains(request.name)) return taken(request.name);
  }
  // Without the lock: a driver may be slow, and requests look up their regions meanwhile.
  Result<std::shared_ptr<Region>> region =
      request.kind == RegionKind::kCuda ? open_cuda_(request) : open_system_region(request);
  if (!region) return std::move(region).error();
  std::string name = request.name;
  MutexLock lock(mutex_);
  const bool added = entries_.try_emplace(name, Entry{std::move(request), std::move(*region)}).second;
  if (!added) return taken(name);
  return {};
}

void RegionTable::remove(RegionKind kind, const std::string& name) {
  std::vector<std::shared_ptr<Region>> gone;  // unmapped outside the lock
  MutexLock lock(mutex_);
  for (auto row = entries_.begin(); row != entries_.end();) {
    Entry& entry = row->second;
    const bool matches = entry.request.kind == kind && (name.empty() || row->first == name);
    if (matches) gone.push_back(std::move(entry.region));
    row = matches ? entries_.erase(row) : std::next(row);
  }
}

Result<std::vector<RegionRequest>> RegionTable::list(RegionKind kind, const std::string& name) const {
  std::vector<RegionRequest> found;
  MutexLock lock(mutex_);
  for (const auto& [key, entry] : entries_)
    if (entry.request.kind == kind && (name.empty() || key == name)) found.push_back(entry.request);
  if (!name.empty() && found.empty())
    return Error{Code::kNotFound, fmt::format("Unable to find {} shared memory region: '{}'", kind_name(kind), name)};
  return found;
}

Status RegionTable::find(SharedMemoryView& part) const {
  {
    MutexLock lock(mutex_);
    auto found = entries_.find(part.region);
    if (found == entries_.end())
      return Error{Code::kNotFound,
                   fmt::format("Unable to find shared memory region: '{}'; register it first", part.region)};
    part.memory = found->second.region;
  }
  const uint64_t size = part.memory->size();
  if (part.offset > size)
    return invalid(fmt::format("Invalid offset for shared memory region: '{}': {}, it has {} bytes", part.region,
                               part.offset, size));
  if (part.byte_size > size - part.offset)
    return invalid(
        fmt::format("Invalid offset + byte size for shared memory region: '{}': {} + {} reach beyond its {} bytes",
                    part.region, part.offset, part.byte_size, size));
  return part.memory->check(part.offset, part.byte_size);
}

Status RegionTable::bind(InferRequest& request) const {
  for (RequestInput& input : request.inputs) {
    if (!input.part) continue;
    Status bound = find(*input.part);
    if (bound) bound = bind_input(request, input);
    if (!bound) return wrap(bound.error(), fmt::format("input '{}'", input.name));
  }
  for (RequestedOutput& output : request.outputs) {
    if (!output.part) continue;
    if (Status bound = find(*output.part); !bound) return wrap(bound.error(), fmt::format("output '{}'", output.name));
  }
  return {};
}

}  // namespace ridge::serve
