// NVIDIA's library of collective operations between GPUs (NCCL), opened at run time. Used by gpu/nccl/group.h.
//
// Handle: copies share the open library. Immutable.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/name_table.h"
#include "base/result.h"

namespace ridge::gpu::nccl {

struct Library;

enum class Collective { kAllReduce, kAllGather, kReduceScatter, kBroadcast };
inline constexpr std::array kCollectives = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                            Collective::kBroadcast};
NameTable<Collective> names_of(Collective);
std::string_view collective_name(Collective collective);  // "all-reduce", …

class Nccl {
 public:
  // `library`: a path; empty: the environment variable RIDGE_NCCL, else libnccl.so.2 by the loader's search, then in python's
  // packages (nvidia-nccl-cu12, nvidia-nccl-cu13). The error says whether there is none, it is unreadable (kNotFound), or it is
  // too old (kUnsupported).
  static Result<Nccl> open(const std::string& library = "");

  std::string version() const;  // "2.32.3"
  const std::string& path() const;
  const std::shared_ptr<const nccl::Library>& library() const { return library_; }

 private:
  explicit Nccl(std::shared_ptr<const nccl::Library> library) : library_(std::move(library)) {}
  std::shared_ptr<const nccl::Library> library_;
};

// Of ncclGetVersion's number, nccl.h's NCCL_VERSION: 23203 is 2.32.3; up to 2.8 by thousands: 2708 is 2.7.8.
std::string nccl_version_text(int number);

// The call's outcome as a status, with the library's last error text.
Status nccl_status(const nccl::Library& library, const char* function, int code);

}  // namespace ridge::gpu::nccl
