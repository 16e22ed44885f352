// Encodes planes, row by row, through libjpeg-turbo.
#pragma once

#include <codec/codec.hpp>
#include <codec/turbo/libjpeg.hpp>
#include <codec/turbo/row_sink.hpp>
#include <deque>
#include <memory>

namespace framewire::codec::turbo {

/// One JPEG being written. Rows may come in any interleaving of the components: what runs ahead is
/// held, in bands of one MCU row, until the other components have caught up.
class Encoder final : public RowSink {
 public:
  /// Prepares the stream; `out` must outlive the encoder and is only appended to.
  [[nodiscard]] static Result<std::unique_ptr<Encoder>> open(const plan::EncodePlan& plan,
                                                             const Context& context,
                                                             std::vector<std::uint8_t>& out);
  ~Encoder() override;

  /// @param component  of the output; its row has ⌈width × h / h_max⌉ samples
  void row(int component, const std::uint8_t* samples) override;

  /// Writes what is pending and EOI.
  /// @return the first error that any row() met; internal if rows are missing; deadline; busy
  [[nodiscard]] Result<void> close();

 private:
  /// One MCU row of one component: [rows_per_band][padded_px] uint8.
  using Band = std::vector<std::uint8_t>;

  struct Component {
    std::int32_t width_px = 0;
    std::int32_t height_px = 0;
    std::int32_t padded_px = 0;  ///< to whole blocks
    std::int32_t rows_per_band = 8;
    std::int32_t received = 0;  ///< rows in all
    std::deque<Band> bands;     ///< not yet written, oldest first; the last is being filled
    std::vector<Band> spare;
    std::array<JSAMPROW, 32> rows{};
  };

  Encoder(const plan::EncodePlan& plan, const Context& context, std::vector<std::uint8_t>& out);
  [[nodiscard]] bool start();
  void configure();
  void prepare_component(int index);
  void write_ready_bands();
  [[nodiscard]] bool ready(const Component& component) const;
  void point_at_front(Component& component) const;
  void write_band(JSAMPARRAY* arrays);
  static void on_open(j_compress_ptr cinfo);
  static boolean on_full(j_compress_ptr cinfo);
  static void on_close(j_compress_ptr cinfo);
  void flush(std::size_t bytes);

  static constexpr std::size_t kBufferBytes = 1 << 16;  ///< filled by libjpeg, then appended

  plan::EncodePlan plan_;
  const Context& context_;
  std::vector<std::uint8_t>& out_;
  ErrorHandler errors_;
  jpeg_compress_struct cinfo_{};
  jpeg_destination_mgr destination_{};
  std::vector<std::uint8_t> buffer_;
  std::size_t skip_ = 2;  ///< bytes of libjpeg's own SOI still to be dropped
  std::array<Component, jpeg::kMaxComponents> components_;
  std::int32_t bands_written_ = 0;
  std::int32_t band_count_ = 0;
  bool failed_ = false;
};

}  // namespace framewire::codec::turbo
