// For tests of shared memory: an object like a client's, unlinked at the end.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "serve/service.h"

namespace ridge::serve {

class TestObject {
 public:
  explicit TestObject(size_t size) : size_(size), key_("/ridge-test-" + std::to_string(getpid()) + "-" + next()) {
    file_ = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_GE(file_, 0);
    resize(size);
    void* place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    EXPECT_NE(place, MAP_FAILED);
    memory_ = static_cast<std::byte*>(place);
  }
  ~TestObject() {
    munmap(memory_, size_);
    close(file_);
    shm_unlink(key_.c_str());
  }
  TestObject(const TestObject&) = delete;
  TestObject& operator=(const TestObject&) = delete;

  const std::string& key() const { return key_; }
  int file() const { return file_; }
  // Memory behind a new end must not be touched.
  void resize(size_t size) const { EXPECT_EQ(ftruncate(file_, static_cast<off_t>(size)), 0); }
  void write(const std::vector<float>& values, size_t at = 0) const {
    std::memcpy(memory_ + at, values.data(), values.size() * sizeof(float));
  }
  std::vector<float> read(size_t count, size_t at = 0) const {
    std::vector<float> values(count);
    std::memcpy(values.data(), memory_ + at, count * sizeof(float));
    return values;
  }
  RegionRequest as(const std::string& name, uint64_t offset = 0) const {
    return {.name = name, .byte_size = size_ - offset, .key = key_, .offset = offset};
  }

 private:
  static std::string next() {
    static int made = 0;
    return std::to_string(++made);
  }

  const size_t size_;
  const std::string key_;
  int file_ = -1;
  std::byte* memory_ = nullptr;
};

// A request for x FP32 [rows,2] with its values in a region.
inline InferRequest region_pair_request(const std::string& region, int64_t rows, uint64_t offset = 0) {
  InferRequest request;
  request.model = "m";
  request.inputs.push_back({.name = "x",
                            .type = DataType::kFp32,
                            .shape = {rows, 2},
                            .data = {},
                            .part = SharedMemoryView{region, offset, static_cast<uint64_t>(rows) * 8}});
  return request;
}

}  // namespace ridge::serve
