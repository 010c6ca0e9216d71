#include "io/import/line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace tokenroof::io {

void LineReader::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  in_.read(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
  end_ += static_cast<std::size_t>(in_.gcount());
}

bool LineReader::next() {
  const auto newline = [&](std::size_t from) {
    const void* found = std::memchr(buffer_.data() + from, '\n', end_ - from);
    return found == nullptr
               ? end_
               : static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
  };
  std::size_t end = newline(begin_);
  if (end == end_ && in_) {
    fill();
    end = newline(begin_);
  }
  if (begin_ == end_) return false;
  ++number_;
  line_ = std::string_view(buffer_.data() + begin_, end - begin_);
  torn_ = end == end_;
  begin_ = std::min(end + 1, end_);
  if (torn_ && in_) {  // longer than the buffer: keep the beginning, pass over the rest
    line_ = line_.substr(0, longest);
    std::size_t keep = line_.size();
    char last = 0;
    while (last != '\n' && in_) {
      in_.read(buffer_.data() + keep, static_cast<std::streamsize>(buffer_.size() - keep));
      begin_ = keep;
      end_ = keep + static_cast<std::size_t>(in_.gcount());
      const std::size_t at = newline(begin_);
      if (at == end_) continue;
      begin_ = at + 1;
      last = '\n';
    }
    if (last != '\n') begin_ = end_;
    torn_ = false;
  }
  line_ = line_.substr(0, longest);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  if (number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.remove_prefix(3);
  return true;
}

}  // namespace tokenroof::io
