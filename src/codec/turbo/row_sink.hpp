// Where finished rows go.
#pragma once

#include <cstdint>

namespace framewire::codec::turbo {

/// Takes the rows of several planes; the rows of one plane come in order, planes interleave freely.
class RowSink {
 public:
  RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;
  virtual ~RowSink() = default;

  /// @param samples  host, one row of the plane's width, uint8; valid during the call
  virtual void row(int plane, const std::uint8_t* samples) = 0;
};

}  // namespace framewire::codec::turbo
