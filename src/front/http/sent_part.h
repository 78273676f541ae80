// SentPart: a part of what is sent: the text, then the bytes, which `owner` keeps. A value.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace ridge::front::http {

struct SentPart {
  std::string text = {};
  std::span<const std::byte> bytes = {};
  std::shared_ptr<const void> owner = {};

  size_t size() const { return text.size() + bytes.size(); }
};

}  // namespace ridge::front::http
