// SharedList: a list that is made once and shared by all who keep it: a copy costs a pointer. Immutable, thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace ridge::generate {

template <typename T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> items)
      : items_(items.empty() ? nullptr : std::make_shared<const std::vector<T>>(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  const T* begin() const { return items_ ? items_->data() : nullptr; }
  const T* end() const { return begin() + size(); }
  const T* data() const { return begin(); }
  size_t size() const { return items_ ? items_->size() : 0; }
  bool empty() const { return items_ == nullptr; }
  const T& operator[](size_t index) const { return (*items_)[index]; }
  const T& front() const { return items_->front(); }
  bool operator==(const SharedList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::shared_ptr<const std::vector<T>> items_;
};

}  // namespace ridge::generate
