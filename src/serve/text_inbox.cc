#include "serve/text_inbox.h"

#include <utility>

namespace ridge::serve {

TextInbox::Added TextInbox::add(TextRequest request, std::shared_ptr<TextSink> sink) {
  const TimePoint now = clock_.now();
  Added added;
  {
    MutexLock lock(mutex_);
    if (news_.closed) return {0, Refusal::kClosed};
    if (waiting_ >= limit_) return {0, Refusal::kFull};
    added.number = ++last_number_;
    news_.arrivals.push_back({added.number, std::move(request), std::move(sink), now});
    ++waiting_;
  }
  changed_.notify_one();
  return added;
}

void TextInbox::cancel(std::list<uint64_t>& number) {
  {
    MutexLock lock(mutex_);
    news_.cancelled.splice(news_.cancelled.end(), number);
  }
  changed_.notify_one();
}

void TextInbox::wake() {
  {
    MutexLock lock(mutex_);
    news_.woken = true;
  }
  changed_.notify_one();
}

void TextInbox::begun() {
  MutexLock lock(mutex_);
  --waiting_;
}

void TextInbox::close() {
  {
    MutexLock lock(mutex_);
    news_.closed = true;
  }
  changed_.notify_one();
}

void TextInbox::abort() {
  {
    MutexLock lock(mutex_);
    news_.closed = news_.aborted = true;
  }
  changed_.notify_one();
}

bool TextInbox::has_news() const {
  return !news_.arrivals.empty() || !news_.cancelled.empty() || news_.closed || news_.woken;
}

TextInbox::News TextInbox::take(TimePoint due) {
  MutexLock lock(mutex_);
  while (!has_news() && clock_.now() < due) clock_.wait_until(changed_, lock, due);
  News news = std::exchange(news_, {});
  news_.closed = news.closed;
  news_.aborted = news.aborted;
  return news;
}

bool TextInbox::aborted() const {
  MutexLock lock(mutex_);
  return news_.aborted;
}

size_t TextInbox::waiting() const {
  MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace ridge::serve
