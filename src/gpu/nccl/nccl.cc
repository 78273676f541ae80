#include "gpu/nccl/nccl.h"

#include <fmt/format.h>

#include "gpu/nccl/abi.h"

namespace ridge::gpu::nccl {
namespace {

// Source of the meanings: NCCL user guide, "ncclResult_t" and "Troubleshooting".
const char* nccl_remedy(int code) {
  switch (code) {
    case nccl::kUnhandledCudaError:
      return "the driver must support NCCL's CUDA or a later one (`ridge doctor --area versions`), and the GPUs in "
             "order";
    case nccl::kSystemError:
      return "a system call failed: often /dev/shm is too small (a container: --shm-size=1g), or locked memory";
    case nccl::kRemoteError: return "a GPU or process of the group stopped; look for XID lines in the kernel log";
    default: return "NCCL_DEBUG=INFO in the environment shows more";
  }
}

constexpr std::pair<Collective, std::string_view> kCollectiveNames[] = {{Collective::kAllReduce, "all-reduce"},
                                                                        {Collective::kAllGather, "all-gather"},
                                                                        {Collective::kReduceScatter, "reduce-scatter"},
                                                                        {Collective::kBroadcast, "broadcast"}};

}  // namespace

NameTable<Collective> names_of(Collective) { return kCollectiveNames; }
std::string_view collective_name(Collective collective) { return name_of(kCollectiveNames, collective); }

Result<Nccl> Nccl::open(const std::string& library) {
  RIDGE_ASSIGN(auto table,
               open_table<nccl::Library>(library, "RIDGE_NCCL", {"libnccl.so.2"}, "NCCL", {"nvidia/nccl/lib"}));
  table->file.leak();  // its threads and kernels must not outlive its code
  return Nccl(std::shared_ptr<const nccl::Library>(std::move(table)));
}

std::string Nccl::version() const {
  int number = 0;
  return library_->ncclGetVersion(&number) == nccl::kSuccess ? nccl_version_text(number) : "of unknown version";
}

const std::string& Nccl::path() const { return library_->file.path(); }

std::string nccl_version_text(int number) {
  const int major = number < 10000 ? number / 1000 : number / 10000;
  const int minor = number < 10000 ? number / 100 % 10 : number / 100 % 100;
  return fmt::format("{}.{}.{}", major, minor, number % 100);
}

Status nccl_status(const nccl::Library& library, const char* function, int code) {
  if (code == nccl::kSuccess) return {};
  const char* words = library.ncclGetErrorString(code);
  const char* last = library.ncclGetLastError ? library.ncclGetLastError(nullptr) : nullptr;
  return Error{Code::kFailed, fmt::format("{}: {}{}{} (NCCL error {}); {}", function, words ? words : "no text",
                                          last && *last ? ": " : "", last ? last : "", code, nccl_remedy(code))};
}

}  // namespace ridge::gpu::nccl
