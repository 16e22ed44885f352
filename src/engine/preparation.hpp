// What is done with a request before a device can work on it.
#pragma once

#include <engine/codec_router.hpp>
#include <engine/converter_cache.hpp>
#include <engine/device_lanes.hpp>
#include <engine/work.hpp>
#include <framewire/status.hpp>

namespace framewire::engine {

/// Prepares requests for the devices of an engine, which are alike: on a lane, or on a host thread
/// first. Safe on many threads.
class Preparation {
 public:
  /// @param device   any of them; outlives this, as the others do
  /// @param helpers  of decode_on_host()
  Preparation(const DeviceLanes& device, const CodecRouter& router, ConverterCache& converters,
              codec::Helpers& helpers)
      : device_(device), router_(router), converters_(converters), helpers_(helpers) {}

  /// Parses bytes that do not change. @return as parse_request()
  [[nodiscard]] Result<void> parse(Work& work) const;
  /// Parses a copy of the head alone, for bytes that may change. @return false where the head is
  /// not enough, or the devices' codec reads more than scans: then a host thread has to come first
  [[nodiscard]] Result<bool> parse_head(Work& work) const;
  /// Plans for the devices' codec, resizes a gain map, writes the output's head.
  /// @return as try_plan_request()
  [[nodiscard]] Result<Planned> plan(Work& work) const;
  /// Does all of this on a host thread. @return as plan(); busy
  [[nodiscard]] Result<Planned> plan_on_host(Work& work) const;
  /// Decodes on a host thread, behind plan_on_host(), what a device does not. @return as
  /// engine::read_on_host()
  [[nodiscard]] Result<void> decode_on_host(Work& work) const;

 private:
  const DeviceLanes& device_;
  const CodecRouter& router_;
  ConverterCache& converters_;
  codec::Helpers& helpers_;
};

}  // namespace framewire::engine
