# Overwrites the first and the last MiB of the disk $1: partition tables, both of GPT, and the labels of RAID and LVM.
erase_metadata() {
  size=$(bytes_of "$1")
  for mib in 0 "$((size / 1048576 - 1))"; do
    [ "$mib" -lt 0 ] || dd if=/dev/zero of="/dev/$1" bs=1M count=1 seek="$mib" conv=fsync,notrunc 2>/dev/null || return 1
  done
  # The last part of a MiB, where the backup of a GPT is.
  rest=$((size % 1048576 / 512))
  [ "$rest" = 0 ] || dd if=/dev/zero of="/dev/$1" bs=512 count="$rest" seek="$(((size - rest * 512) / 512))" conv=fsync,notrunc 2>/dev/null
}
# The disk erases itself. False when it cannot, or does not say that it did.
erase_itself() {
  case $1 in
    nvme*) nvme format "/dev/$1" --ses=1 --force >/run/erase 2>&1 || nvme format "/dev/$1" --ses=0 --force >/run/erase 2>&1 ;;
    sd*)
      hdparm -I "/dev/$1" >/run/identity 2>/dev/null && grep -q 'supported: enhanced erase\|not	enabled' /run/identity || return 1
      grep -q 'not	frozen' /run/identity || return 1
      hdparm --user-master u --security-set-pass anneal "/dev/$1" >/run/erase 2>&1 &&
        hdparm --user-master u --security-erase anneal "/dev/$1" >/run/erase 2>&1
      ;;
    *) return 1 ;;
  esac
}
# Overwrites the disk $1 in pieces of 64 MiB, and says how far it is.
overwrite() {
  say "overwriting all of $(describe "$1")" >&2
  size=$(bytes_of "$1") at=0
  count=$((size / 512)) mib=$((size / 1048576)) rest=$((size % 1048576 / 512))
  while [ "$at" -lt "$mib" ]; do
    heartbeat erasing "$((erased + at * 1048576))" "$erase_total"
    piece=$((mib - at < 64 ? mib - at : 64))
    dd if=/dev/zero of="/dev/$1" bs=1M count="$piece" seek="$at" conv=notrunc 2>/dev/null || return 1
    at=$((at + piece))
  done
  [ "$rest" = 0 ] || dd if=/dev/zero of="/dev/$1" bs=512 count="$rest" seek="$((count - rest))" conv=notrunc 2>/dev/null || return 1
  sync
  [ "$(dd if="/dev/$1" bs=512 skip="$((count - 1))" count=1 2>/dev/null | tr -d '\000' | wc -c)" = 0 ]
}
erase_disk() {
  if read_line "/sys/block/$1/ro" && [ "$value" = 1 ]; then
    echo "$(describe "$1") is read-only"
    return 1
  fi
  case $mode in
    metadata) how='partition tables erased' ;;
    *) if erase_itself "$1"; then how='erased itself'
       elif [ "$mode" = full ]; then overwrite "$1" || { echo "cannot overwrite $(describe "$1")"; return 1; }; how='overwritten'
       else how='partition tables erased'
       fi ;;
  esac
  erase_metadata "$1" || { echo "cannot write to $(describe "$1")"; return 1; }
  [ "$(head -c 1048576 "/dev/$1" | tr -d '\000' | wc -c)" = 0 ] || { echo "$(describe "$1") still has its first data"; return 1; }
  echo "$(describe "$1") $how"
}
clean() {
  wait_for_disks
  done_disks= failed= erased=0 erase_total=0
  for disk in $(disks); do erase_total=$((erase_total + $(bytes_of "$disk"))); done
  for disk in $(disks); do
    result=$(erase_disk "$disk") || failed="$failed${failed:+; }$result"
    say "$result"
    erased=$((erased + $(bytes_of "$disk")))
    done_disks="$done_disks${done_disks:+; }$result"
  done
  [ -z "$failed" ] || give_up "not every disk is clean: $failed"
  report cleaned "Erased ($mode): $done_disks"
  poweroff -f
}
