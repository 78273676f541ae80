// Memory of a GPU of fake_cuda.cc: the CPU's, either private to this process, or in an unnamed file that another
// process can open through this one's file descriptors.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace ridge::fake {

// Move-only owner. get() is null if there was no memory.
class FakeMemory {
 public:
  static FakeMemory own(size_t bytes) {
    FakeMemory made;
    made.content_ = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    return made;
  }
  static FakeMemory shared(size_t bytes) {
    FakeMemory made;
    made.file_ = memfd_create("gpu", MFD_CLOEXEC);
    if (made.file_ >= 0 && ftruncate(made.file_, static_cast<off_t>(bytes)) == 0) made.map(bytes);
    return made;
  }
  // Memory from shared() in process `owner`, open there as `file`.
  static FakeMemory of_other_process(int owner, int file, size_t bytes) {
    FakeMemory made;
    const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(file);
    made.file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (made.file_ >= 0) made.map(bytes);
    return made;
  }

  FakeMemory() = default;
  FakeMemory(FakeMemory&& other) noexcept { *this = std::move(other); }
  FakeMemory& operator=(FakeMemory&& other) noexcept {
    std::swap(content_, other.content_);
    std::swap(mapped_, other.mapped_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~FakeMemory() {
    if (mapped_ > 0)
      munmap(content_, mapped_);
    else
      std::free(content_);
    if (file_ >= 0) close(file_);
  }

  void* get() const { return content_; }
  int file() const { return file_; }  // -1: private to this process

 private:
  void map(size_t bytes) {
    void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (place == MAP_FAILED) return;
    content_ = place;
    mapped_ = bytes;
  }

  void* content_ = nullptr;
  size_t mapped_ = 0;  // [bytes]; 0: by aligned_alloc
  int file_ = -1;
};

}  // namespace ridge::fake
