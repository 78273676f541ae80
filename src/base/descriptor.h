// A file descriptor, closed with its owner. Move-only.
#pragma once

#include <unistd.h>

#include <utility>

namespace ridge {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }

  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }  // to another owner
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;  // -1: none
};

}  // namespace ridge
