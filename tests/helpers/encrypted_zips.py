"""Zips encrypted by ZipCrypto, which Python can read but not write (APPNOTE 6.1)."""

import struct
import zlib


class ZipCrypto:
    """The cipher for one member."""

    def __init__(self, password: bytes):
        self.keys = [0x12345678, 0x23456789, 0x34567890]
        for byte in password:
            self.update(byte)

    def update(self, byte: int) -> None:
        first, second, third = self.keys
        first = ~zlib.crc32(bytes([byte]), ~first & 0xFFFFFFFF) & 0xFFFFFFFF
        second = ((second + (first & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        third = ~zlib.crc32(bytes([second >> 24]), ~third & 0xFFFFFFFF) & 0xFFFFFFFF
        self.keys = [first, second, third]

    def encrypt(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            key = (self.keys[2] | 2) & 0xFFFF
            out.append(byte ^ ((key * (key ^ 1)) >> 8 & 0xFF))
            self.update(byte)
        return bytes(out)


def encrypted_zip(members: dict[str, bytes], password: str) -> bytes:
    """Return a zip of deflated, encrypted members, by name."""
    body, directory = b"", b""
    for name, content in members.items():
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(content) + packer.flush()
        checksum = zlib.crc32(content)
        # The format wants eleven random bytes. They are fixed here, so that no wrong password gets past them by chance.
        header = bytes(range(11)) + bytes([checksum >> 24])
        data = ZipCrypto(password.encode()).encrypt(header + packed)
        common = struct.pack("<HHHHHIIIHH", 20, 1, 8, 0, 33, checksum, len(data), len(content), len(name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + common + name.encode() + data
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end
