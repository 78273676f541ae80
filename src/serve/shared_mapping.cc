#include "serve/shared_mapping.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/mutex.h"
#include "base/rounding.h"

namespace ridge::serve {
namespace {

// A mapping as seen by the handler. Written before its memory can be touched and cleared when nothing can touch it any
// more, so that a faulting thread finds it.
struct GuardedRange {
  std::atomic<uintptr_t> begin{0};  // 0: the slot is free
  std::atomic<size_t> size{0};      // [bytes], whole pages
  std::atomic<bool> lost{false};
};

struct Guard {
  GuardedRange ranges[SharedMapping::kMostMappings];
  std::atomic<size_t> used{0};          // slots below it have been used
  std::atomic<int> loads{0};            // LoadGuards
  std::atomic<uint64_t> lost_pages{0};  // that they have replaced
  struct sigaction previous {};
  Mutex mutex;  // for taking slots; never taken by the handler
  bool installed RIDGE_GUARDED_BY(mutex) = false;
};

// A signal handler belongs to the process, and so does its data.
Guard& guard() {
  static constinit Guard one;
  return one;
}

// The system call itself: a sanitizer's wrapper of mmap(2) is not for handlers.
bool put_zeros(uintptr_t begin, size_t size) {
  return static_cast<uintptr_t>(syscall(SYS_mmap, begin, size, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)) == begin;
}

// Allowed in a signal handler: atomics and system calls.
bool replace_lost_memory(uintptr_t address) {
  Guard& table = guard();
  const size_t used = table.used.load(std::memory_order_acquire);
  for (size_t i = 0; i < used; ++i) {
    GuardedRange& range = table.ranges[i];
    const uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const size_t size = range.size.load(std::memory_order_acquire);
    const bool changes = range.begin.load(std::memory_order_relaxed) != begin;  // not ours then: ours is held
    if (begin == 0 || changes || address < begin || address - begin >= size) continue;
    range.lost.store(true, std::memory_order_release);
    return put_zeros(begin, size);
  }
  if (table.loads.load(std::memory_order_acquire) == 0) return false;
  table.lost_pages.fetch_add(1, std::memory_order_acq_rel);
  const auto page = static_cast<uintptr_t>(getpagesize());
  return put_zeros(address / page * page, page);
}

// A fault outside the mappings: the action without this handler.
void hand_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous = guard().previous;
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);  // the same instruction faults again, and that ends the process
  if (info->si_code <= 0) raise(signal);  // it was sent, nothing faulted
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool faulted = info->si_code == BUS_ADRERR || info->si_code == BUS_MCEERR_AR;
  if (!faulted || !replace_lost_memory(reinterpret_cast<uintptr_t>(info->si_addr))) hand_on(signal, info, context);
  errno = saved;
}

Status install_handler(Guard& table) RIDGE_REQUIRES(table.mutex) {
  if (table.installed) return {};
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  if (sigaction(SIGBUS, &ours, &table.previous) != 0)
    return Error{Code::kFailed, fmt::format("guard shared memory: sigaction(SIGBUS): {}", std::strerror(errno))};
  table.installed = true;
  return {};
}

// A slot for these pages, visible to the handler from now on.
Result<size_t> take_slot(std::span<std::byte> pages) {
  Guard& table = guard();
  MutexLock lock(table.mutex);
  RIDGE_TRY(install_handler(table));
  for (size_t i = 0; i < SharedMapping::kMostMappings; ++i) {
    GuardedRange& range = table.ranges[i];
    if (range.begin.load(std::memory_order_relaxed) != 0) continue;
    range.lost.store(false, std::memory_order_relaxed);
    range.size.store(pages.size(), std::memory_order_release);  // a reader of this sees that `begin` was 0
    range.begin.store(reinterpret_cast<uintptr_t>(pages.data()), std::memory_order_release);
    if (i >= table.used.load(std::memory_order_relaxed)) table.used.store(i + 1, std::memory_order_release);
    return i;
  }
  return Error{Code::kExhausted, fmt::format("{} shared memory regions are already mapped, the maximum; "
                                             "unregister unused ones",
                                             SharedMapping::kMostMappings)};
}

void free_slot(size_t slot) {
  Guard& table = guard();
  MutexLock lock(table.mutex);
  table.ranges[slot].begin.store(0, std::memory_order_release);
}

}  // namespace

LoadGuard::LoadGuard() : lost_before_(guard().lost_pages.load(std::memory_order_acquire)) {
  Guard& table = guard();
  MutexLock lock(table.mutex);
  (void)install_handler(table).ok();  // without it a lost page ends the process, as it would anyway
  table.loads.fetch_add(1, std::memory_order_acq_rel);
}

LoadGuard::~LoadGuard() { guard().loads.fetch_sub(1, std::memory_order_acq_rel); }

bool LoadGuard::lost_memory() const { return guard().lost_pages.load(std::memory_order_acquire) != lost_before_; }

Result<SharedMapping> SharedMapping::map(int file, uint64_t offset, size_t size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto before = static_cast<size_t>(offset % page);
  constexpr size_t kLargest = std::numeric_limits<ptrdiff_t>::max();
  if (size == 0 || size > kLargest - 2 * page)
    return Error{Code::kInvalid, fmt::format("{} bytes cannot be mapped", size)};
  const size_t whole = round_up(before + size, page);
  void* place = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset - before));
  if (place == MAP_FAILED)
    return Error{Code::kExhausted, fmt::format("map {} bytes of shared memory: {}", whole, std::strerror(errno))};
  SharedMapping mapping;
  mapping.pages_ = {static_cast<std::byte*>(place), whole};
  mapping.bytes_ = mapping.pages_.subspan(before, size);
  RIDGE_ASSIGN(mapping.slot_, take_slot(mapping.pages_));
  return mapping;
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept { *this = std::move(other); }

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(slot_, other.slot_);
  std::swap(pages_, other.pages_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMapping::~SharedMapping() {
  // In this order: once unmapped, the addresses may be reused.
  if (slot_ != kMostMappings) free_slot(slot_);
  if (!pages_.empty()) munmap(pages_.data(), pages_.size());
}

bool SharedMapping::lost() const {
  return slot_ != kMostMappings && guard().ranges[slot_].lost.load(std::memory_order_acquire);
}

}  // namespace ridge::serve
